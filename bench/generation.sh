#!/bin/sh
# Runs steps of generation several times over and prints a Markdown table: bytes of keys and values per second, in share of what reading
# memory of the same kind of pages gives. Medians over the passes.
#
#     generation.sh ATTEND [PASSES] [bench options, as --isa avx2]
#
# ATTEND is the command; use an idle machine.

set -eu
. "$(dirname "$0")/passes.sh"

steps="b8.h32.g8.q1.k4096.d128 b32.h32.g8.q1.k4096.d128 b1.h32.g8.q1.k32768.d128"
groups="b8.h8.g8.q1.k4096.d128 b8.h56.g8.q1.k4096.d128 b8.h64.g8.q1.k4096.d128 b8.h128.g8.q1.k4096.d128 b8.h32.g8.q4.k4096.d128:causal"
pages="b8.h32.g8.q1.k4096.d128:page=1 b8.h32.g8.q1.k4096.d128:page=128"

measure_all()
{
    for step in $steps; do measure "$step" "$step:page=16" "$step:memory=small" "$step:page=16:memory=small"; done
    measure $groups $pages
}

in_passes measure_all
awk "$median_function"'
    { gsub(/"/, ""); sub(/,$/, "") }
    $1 == "problem:" { problem = $2; if (!(problem in known)) { known[problem]; order[++problems] = problem } }
    $1 == "threads:" { threads = $2 }
    $1 == "byte_rate:" { rate = $2 }
    $1 == "read_fraction:" { key = problem " " threads; share[key, ++count[key]] = $2; bytes[key, count[key]] = rate / 1e9 }
    END {
        print "| problem | 1 thread | GB/s | 2 threads | GB/s |"
        print "|---|---|---|---|---|"
        for (i = 1; i <= problems; i++) {
            one = order[i] " 1"
            two = order[i] " 2"
            printf "| `%s` | %.2f | %.1f | %.2f | %.1f |\n", order[i], median(share, one, count[one]), median(bytes, one, count[one]),
                median(share, two, count[two]), median(bytes, two, count[two])
        }
    }' "$results"
