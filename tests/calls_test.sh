#!/bin/sh
# The library never prints, ends the process, reads or changes the environment, handles signals or registers work for
# exit: its objects refer to no function that could. Formatting into a buffer is fine. No object has a constructor or
# destructor.

case " $TEST_CFLAGS " in
*' -fsanitize'* | *' -flto'* | *' --coverage'* | *' -pg'*)
    echo "objects are instrumented or not final: $TEST_CFLAGS"
    exit 77
    ;;
esac

build=${TEST_BUILDDIR:-.}
objects=$(find "$build"/engine/base "$build"/engine/kernel "$build"/engine/problem "$build"/engine/plan \
    "$build"/engine/threads "$build"/engine/api -name '*.o' 2>/dev/null)
if test -z "$objects"; then
    echo "no objects under $build/engine"
    exit 1
fi

stdio='v?f?printf|v?dprintf|__v?f?printf_chk|puts|fputs|fputc|putc|putchar|_IO_putc|fwrite|perror|psignal|std(out|err)'
process='_?_?exit|_Exit|quick_exit|abort|__assert_fail|atexit|on_exit|__cxa_atexit|system|popen|exec[lv][a-z]*|fork'
environment='getenv|secure_getenv|setenv|putenv|unsetenv|clearenv|environ'
signals='signal|__sysv_signal|sigaction|raise|kill|alarm|setitimer'
state='srand|rand|setlocale|omp_set_[a-z_]*'
failed=0

for object in $objects; do
    found=$(${NM:-nm} -u "$object" | awk '{ print $NF }' | sed 's/@.*//' |
        grep -Ex "($stdio|$process|$environment|$signals|$state)")
    test -z "$found" || { echo "$object refers to:" $found; failed=1; }
    found=$(${OBJDUMP:-objdump} -h "$object" | grep -E '\.(init_array|fini_array|ctors|dtors)')
    test -z "$found" || { echo "$object has a constructor or destructor"; failed=1; }
done
exit $failed
