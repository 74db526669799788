#!/bin/sh
# Old and foreign processors, emulated by qemu-user: the sets that are detected there, the golden hashes of each, their errors
# against float64, and random problems against the reduction contract. The plain programs are built statically, without hwloc and
# the command, for x86-64 and AArch64 in trees of their own, which are removed at the end. Takes some minutes: for
# `make check-isa`, not for `make check`. Emulators know no AVX-512.

suite=isa
. "${TEST_SRCDIR:-.}/tests/shell_checks.sh"
golden=$top/tests/golden.sha256
problems=$(grep -c '^b' "$golden")

# ---- what is needed -------------------------------------------------------------------------------------------------

missing=
for tool in qemu-x86_64 qemu-aarch64 aarch64-linux-gnu-gcc sha256sum; do
    command -v $tool >/dev/null 2>&1 || missing="$missing $tool"
done
if test -n "$missing"; then
    echo "missing:$missing"
    echo "On Debian and its kin \`./bootstrap check-isa\` installs what is needed, or: apt-get install qemu-user" \
        "gcc-aarch64-linux-gnu libc6-dev-arm64-cross libgomp1-arm64-cross"
    exit 1
fi
case $(uname -m) in
x86_64 | amd64) ;;
*)
    echo "the programs for x86-64 are built by this machine's own compiler: run it on x86-64"
    exit 1
    ;;
esac

# ---- the programs ---------------------------------------------------------------------------------------------------

# builds NAME OPTION...: both plain programs in $folder/NAME, configured with these options.
builds()
{
    mkdir "$folder/$1" && cd "$folder/$1" || return 1
    shift
    "$top/configure" --without-hwloc --disable-command --disable-shared "$@" >log 2>&1 &&
        "${MAKE:-make}" tests/plain_runner tests/plain_contract PLAIN_LINK=-all-static >>log 2>&1
    built=$?
    test $built = 0 || tail -n 20 log >"$folder/stderr"
    cd "$folder" || exit 1
    return $built
}

# ---- one processor --------------------------------------------------------------------------------------------------

# succeeds COMMAND...: leaves what it said, without the emulator's list of features that it lacks.
succeeds()
{
    "$@" >stdout 2>complaints
    status=$?
    grep -v "TCG doesn't support" complaints >stderr
    return $status
}

# keeps COMMAND...: the runner with these options has the golden hashes.
keeps()
{
    succeeds sh "$top/tests/golden_hashes.sh" "$golden" "$@" && cmp -s "$golden" stdout && return
    : >stdout
    return 1
}

# judge PROCESSOR SETS TREE EMULATOR...: the programs of the tree behind the emulator, where exactly these sets are detected. A set's
# hashes are the matter of the first processor of the tree that has it: on the others the same code runs. Errors are those of the
# golden bytes, so a few problems do.
hashed= slack=
judge()
{
    processor=$1 sets=$2 tree=$3
    runner=$folder/$3/tests/plain_runner contract=$folder/$3/tests/plain_contract
    shift 3
    check "$processor: has $sets" succeeds "$@" "$runner" --expect-isas "$sets"
    for isa in $sets; do
        case " $hashed " in *" $tree/$isa "*) continue ;; esac
        hashed="$hashed $tree/$isa"
        check "$processor: hashes of $problems problems on $isa" keeps "$@" "$runner" --isa "$isa" --threads 2
    done
    check "$processor: errors against float64" succeeds "$@" "$runner" --isa all --accuracy=50 \
        b1.h2.q7.k1025.d64 b1.h1.q32.k530.d31 b2.h4.g2.q40.k200.d80:causal
    check "$processor: random problems by the contract" succeeds "$@" "$contract" $slack
}

check "builds for x86-64" builds x86_64
check "builds for AArch64" builds aarch64 --host=aarch64-linux-gnu
if test $failed = 0; then
    judge Nehalem portable x86_64 qemu-x86_64 -cpu Nehalem
    judge "Sandy Bridge" portable x86_64 qemu-x86_64 -cpu SandyBridge
    slack=--slack # qemu 7.2 loads all lanes of a masked load
    judge Haswell "avx2 portable" x86_64 qemu-x86_64 -cpu Haswell
    slack=
    judge "Cortex-A72" "neon portable" aarch64 qemu-aarch64 -cpu cortex-a72
fi

finish
