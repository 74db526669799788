#!/bin/sh
# No wide instruction outside the library of its own set: one stray compiler flag would be an illegal instruction on a
# user's older processor. Judges builds with the project's own flags only.

build=${TEST_BUILDDIR:-.}
case " $TEST_CFLAGS " in
*' -march'* | *' -mavx'* | *' -mfma'* | *' -mcpu'* | *' -flto'* | *' -fsanitize'*)
    echo "CFLAGS choose the processor themselves, or objects are not final: $TEST_CFLAGS"
    exit 77
    ;;
esac
case $(uname -m) in
x86_64 | amd64) ;;
*)
    echo "this check knows x86-64 only"
    exit 77
    ;;
esac

# listing OBJECT: what it disassembles to.
listing()
{
    ${OBJDUMP:-objdump} -d --no-show-raw-insn "$1"
}

failed=0 checked=0
for object in $(find "$build"/engine -name '*.o' ! -path '*/cli/*' | sort); do
    case $object in
    *kernel_avx512*) pattern='%nothing' sets=zmm ;;
    *kernel_avx2*) pattern='%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])' sets=ymm ;;
    *) pattern='%[yz]mm|%k[0-7]|[[:space:]]v[a-z0-9]+[[:space:]].*%xmm' sets= ;;
    esac
    found=$(listing "$object" | grep -E "$pattern" | head -3)
    test -z "$found" || { echo "$object has instructions that it must not have:"; echo "$found"; failed=1; }
    test -z "$sets" || listing "$object" | grep -q "%$sets" || { echo "$object has no $sets instruction"; failed=1; }
    checked=$((checked + 1))
done
test $checked -gt 0 || { echo "no objects under $build/engine"; failed=1; }
exit $failed
