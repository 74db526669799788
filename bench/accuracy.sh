#!/bin/sh
# Measures how far results are from float64, by width, number of keys and instruction set, and prints the largest errors as
# Markdown tables. Where all sets have the same errors, as the reduction contract promises, there is one pair of tables.
#
#     accuracy.sh RUNNER
#
# RUNNER is tests/plain_runner, perhaps behind an emulator.

set -eu
widths="8 16 32 64 80 96 128 192.v128 256 576.v512"
lengths="16 128 512 2048 8192"

problems=$(mktemp "${TMPDIR:-/tmp}/attend-accuracy.XXXXXX")
trap 'rm -f "$problems" "$problems.errors"' EXIT
trap 'exit 1' HUP INT TERM
for width in $widths; do
    for length in $lengths; do
        echo "b1.h2.q128.k$length.d$width"
    done
done >"$problems"

"$@" --isa all --accuracy=200 --file "$problems" >"$problems.errors"
awk -v widths="$widths" -v lengths="$lengths" '
    # The cells of one table, by set, width and length.
    NR == 1 { sub(/^instruction sets: /, ""); set_count = split($0, sets); next }
    {
        split($2, sizes, /\.[kd]/)
        width = sizes[3]
        output[$1, width, sizes[2]] = sprintf("%.1e (%.2f %%)", $5, 100 * $6)
        lse[$1, width, sizes[2]] = sprintf("%.1e (%.1f %%)", $7, 100 * $8)
    }
    function print_table(title, cell, set,    w, l, line, rule) {
        line = "| d_k, d_v |"
        rule = "|---|"
        for (l = 1; l <= length_count; l++) { line = line " " columns[l] " keys |"; rule = rule "---|" }
        printf "\n%s\n\n%s\n%s\n", title, line, rule
        for (w = 1; w <= width_count; w++) {
            line = rows[w]
            if (!sub(/\.v/, ", ", line)) line = line ", " line
            line = "| " line " |"
            for (l = 1; l <= length_count; l++) line = line " " cell[set, rows[w], columns[l]] " |"
            print line
        }
    }
    function print_set(names, set) {
        print_table("Largest |Δo| / max |v|, and the largest share of its bound: " names, output, set)
        print_table("Largest |ΔLSE|, and the largest share of its bound: " names, lse, set)
    }
    END {
        width_count = split(widths, rows, " ")
        length_count = split(lengths, columns, " ")
        names = sets[1]
        for (s = 2; s <= set_count; s++) names = names ", " sets[s]
        same = 1
        for (place in output) {
            split(place, part, SUBSEP)
            first = sets[1] SUBSEP part[2] SUBSEP part[3]
            if (output[place] != output[first] || lse[place] != lse[first]) same = 0
        }
        if (same) print_set(names " alike", sets[1])
        else for (s = 1; s <= set_count; s++) print_set(sets[s], sets[s])
    }' "$problems.errors"
