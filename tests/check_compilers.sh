#!/bin/sh
# The golden hashes of builds by GCC and Clang without and with optimisation, on every instruction set that is detected
# here. Each build has a tree of its own, which is removed at the end; hwloc and the command do not matter to the bytes and
# are left out. Takes some minutes: for `make check-compilers`, not for `make check`.

suite=compilers
. "${TEST_SRCDIR:-.}/tests/shell_checks.sh"
golden=$top/tests/golden.sha256

# builds COMPILER LEVEL OPTION...: configures with these options and makes the runner in the current folder.
builds()
{
    compiler=$1 level=$2
    shift 2
    "$top/configure" CC="$compiler" CFLAGS="$level" --without-hwloc --disable-command "$@" >"$folder/log" 2>&1 &&
        "${MAKE:-make}" tests/plain_runner >>"$folder/log" 2>&1 && return
    tail -n 20 "$folder/log" >"$folder/stderr"
    return 1
}

# keeps OPTION...: the runner in the current folder has the golden hashes.
keeps()
{
    sh "$top/tests/golden_hashes.sh" "$golden" tests/plain_runner "$@" >computed 2>"$folder/stderr" &&
        cmp -s "$golden" computed
}

# judge COMPILER LEVEL OPTION...: a build, and its hashes by set.
judge()
{
    tree="$folder/$1$2"
    mkdir "$tree" && cd "$tree" || exit 1
    build="$1 $2"
    check "$build: builds" builds "$@"
    test -x tests/plain_runner || return
    for isa in $(tests/plain_runner | sed -n 's/^instruction sets: //p'); do
        check "$build: hashes of $isa" keeps --isa "$isa" --threads 2
    done
    cd "$folder" || exit 1
    rm -rf "$tree"
}

echo 'int main(void) { return 0; }' >main.c
for compiler in gcc clang; do
    if ! command -v $compiler >/dev/null 2>&1; then
        echo "# skipped: $compiler, not found"
        continue
    fi
    openmp=--with-openmp
    if ! $compiler -fopenmp main.c -o main >log 2>&1; then
        openmp=--without-openmp
        echo "# skipped: the team with $compiler, which has no OpenMP"
    fi
    for level in -O0 -O3; do
        judge $compiler $level $openmp
    done
done

finish
