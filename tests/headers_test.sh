#!/bin/sh
# The public header compiles alone, without a warning, as C99, C11 and C++, and its initialisers are usable there.

folder=$(mktemp -d "${TMPDIR:-/tmp}/attend-headers.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
include="-I${TEST_SRCDIR:-.}/include"
failed=0

cat >"$folder/user.c" <<'END'
#include <attend/attend.h>
#include <attend/attend.h>
int use(void);
int use(void)
{
    attend_engine_options options = ATTEND_ENGINE_OPTIONS_INIT;
    attend_engine_info info = ATTEND_ENGINE_INFO_INIT;
    attend_problem problem = ATTEND_PROBLEM_INIT;
    attend_args args = ATTEND_ARGS_INIT;
    attend_tensor tensor = ATTEND_TENSOR_INIT;
    attend_explanation explanation = ATTEND_EXPLANATION_INIT;
    attend_append_args append = ATTEND_APPEND_ARGS_INIT;
    attend_cache_options cache = ATTEND_CACHE_OPTIONS_INIT;
    attend_cache_info info_of_cache = ATTEND_CACHE_INFO_INIT;
    tensor = attend_view_bhsd(0, 1, 2, 3);
    return (int)(options.struct_size + info.struct_size + problem.struct_size + args.struct_size + tensor.struct_size +
                 explanation.struct_size + append.struct_size + cache.struct_size + info_of_cache.struct_size);
}
END

# try NAME COMPILER ARGUMENT...
try()
{
    name=$1
    shift
    if "$@" -Wall -Wextra -Werror $include -c -o "$folder/user.o"; then
        echo "ok - $name"
    else
        echo "not ok - $name: $*"
        failed=1
    fi
}

compiler=${TEST_CC:-cc}
try C99 $compiler -std=c99 -pedantic "$folder/user.c"
try C11 $compiler -std=c11 -pedantic "$folder/user.c"
try GNU17 $compiler -std=gnu17 "$folder/user.c"
plus=${CXX:-c++}
if command -v "$plus" >/dev/null 2>&1; then
    cp "$folder/user.c" "$folder/user.cpp"
    try C++98 "$plus" -std=c++98 -Wno-long-long "$folder/user.cpp"
    try C++11 "$plus" -std=c++11 -pedantic "$folder/user.cpp"
    try C++20 "$plus" -std=c++20 -pedantic "$folder/user.cpp"
else
    echo "skipped - no C++ compiler"
fi
exit $failed
