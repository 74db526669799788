#!/bin/sh
# The example of a server that generates (tests/consumer/generate.c): sequences that join, prompts and single tokens in one call, keys in
# pages, and in the end the bytes of one call over each sequence.

suite=generate
. "${TEST_SRCDIR:-.}/tests/shell_checks.sh"
build=$(cd "$OLDPWD" && cd "${TEST_BUILDDIR:-.}" && pwd)

generates()
{
    "$build/generate" >stdout 2>stderr || return 1
    test "$(grep -c 'the bytes of one call over all of them$' stdout)" -eq 4 && grep -q '^400 steps, 3085 tokens' stdout
}

check "a server's steps have the bytes of one call" generates
finish
