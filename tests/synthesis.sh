#!/bin/sh
# Prints the synthesis line of every Criterion suite among the logs given, and how many tests were skipped.

skipped=0
echo
for log; do
    line=$(grep -a 'Synthesis:' "$log" 2>/dev/null) || continue
    printf '%-18s %s\n' "$(basename "$log" .log)" "$line"
    skipped=$((skipped + $(grep -ac '\[.*SKIP.*\]' "$log")))
done
test $skipped -eq 0 || echo "skipped tests: $skipped (the logs say why)"
