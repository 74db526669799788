#!/bin/sh
# The bytes of golden.sha256, on every instruction set that is detected here, with one, two and three threads, batched and
# with each item in a call of its own. Prints one line per check and a closing count; fails when any check failed.

suite=golden
. "${TEST_SRCDIR:-.}/tests/shell_checks.sh"
build=$(cd "$OLDPWD" && cd "${TEST_BUILDDIR:-.}" && pwd)
runner=$build/tests/plain_runner
golden=$top/tests/golden.sha256
command -v sha256sum >/dev/null 2>&1 || { echo "# skipped: there is no sha256sum"; exit 77; }

# keeps OPTION...: a run with these options has the file's hashes.
keeps()
{
    sh "$top/tests/golden_hashes.sh" "$golden" "$runner" "$@" >computed 2>stderr || return 1
    diff "$golden" computed >difference && return
    echo "#   $(grep -c '^>' difference) of $problems problems have other bytes, such as"
    sed -n 's/^> \([^ ]*\).*/#       \1/p' difference | head -5
    return 1
}

# The sets that are built.
known="$(sed -n 's/^#define BUILT_\([A-Z0-9]*\) 1$/\1/p' "$build/config.h" | tr '[:upper:]' '[:lower:]') portable"

problems=$(grep -c '^b' "$golden")
detected=$("$runner" | sed -n 's/^instruction sets: //p')
check "instruction sets are detected" test -n "$detected"
for isa in $known; do
    case " $detected " in
    *" $isa "*) ;;
    *)
        echo "# skipped: $isa, not detected here"
        continue
        ;;
    esac
    for threads in 1 2 3; do
        check "$isa, threads $threads, batched: $problems problems" keeps --isa "$isa" --threads $threads
        check "$isa, threads $threads, alone: $problems problems" keeps --isa "$isa" --threads $threads --alone
    done
done

finish
