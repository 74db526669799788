#!/bin/sh
# The shared library exports exactly the functions of engine/api/attend.sym, which are those that the header declares,
# all with the project's prefix; and nothing of the static library's own names could clash with a host's.

case " $TEST_CFLAGS " in
*' -fsanitize'* | *' -flto'* | *' --coverage'* | *' -pg'*)
    echo "objects are instrumented or not final: $TEST_CFLAGS"
    exit 77
    ;;
esac

source=${TEST_SRCDIR:-.} build=${TEST_BUILDDIR:-.}
folder=$(mktemp -d "${TMPDIR:-/tmp}/attend-exports.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

# same WHAT FILE FILE
same()
{
    if diff "$2" "$3" >"$folder/diff"; then
        echo "ok - $1"
    else
        echo "not ok - $1 (< has, > lacks)"
        cat "$folder/diff"
        failed=1
    fi
}

sort "$source/engine/api/attend.sym" >"$folder/listed"
sed -n 's/^ATTEND_API .*[ *]\(attend_[a-z_0-9]*\)(.*/\1/p' "$source/include/attend/attend.h" | sort >"$folder/declared"
same 'the header declares what the list names' "$folder/declared" "$folder/listed"

shared=$build/.libs/libattend.so
if test -f "$shared"; then
    ${NM:-nm} -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort >"$folder/exported"
    same 'the shared library exports what the list names' "$folder/exported" "$folder/listed"
else
    echo "skipped - no shared library was built"
fi

grep -v '^attend_' "$folder/listed" >"$folder/foreign"
: >"$folder/nothing"
same 'every exported name begins with attend_' "$folder/foreign" "$folder/nothing"

${NM:-nm} --defined-only "$build/.libs/libattend.a" 2>/dev/null |
    awk 'NF == 3 && $2 ~ /^[A-Z]$/ && $3 !~ /^attend_/ { print $3 }' | sort -u >"$folder/clashing"
same 'every global name of the static library begins with attend_' "$folder/clashing" "$folder/nothing"

exit $failed
