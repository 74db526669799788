#!/bin/sh
# Prints the synthesis line of every Criterion suite among the logs given, and how many checks were skipped: tests of
# Criterion and the "# skipped" lines of the shell suites.

skipped=0
echo
for log; do
    test -r "$log" || continue
    skipped=$((skipped + $(grep -ac -e '\[.*SKIP.*\]' -e '^# skipped' "$log")))
    line=$(grep -a 'Synthesis:' "$log") || continue
    printf '%-18s %s\n' "$(basename "$log" .log)" "$line"
done
test $skipped -eq 0 || echo "skipped checks: $skipped (the logs say why)"
