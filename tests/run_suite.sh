#!/bin/sh
# Runs one Criterion program: one test at a time, skips shown. A program that ran no test, or ended without a
# synthesis, failed; one that skipped all its tests was skipped.

output=$("$@" --verbose --jobs 1 2>&1)
status=$?
printf '%s\n' "$output"
case $(printf '%s\n' "$output" | grep -a 'Synthesis:') in
*'Tested: 0 '*)
    printf '%s\n' "$output" | grep -aq '\[.*SKIP.*\]' && exit 77
    echo "no test was run"
    exit 1
    ;;
*'Failing: 0 '*'Crashing: 0'*) exit $status ;;
'') echo "Synthesis: none; status $status: $(printf '%s\n' "$output" | tail -n 1)" ;;
esac
exit 1
