#!/bin/sh
# Runs the problems of RESULTS.md several times over, in turns, and prints their shares of the multiply-add peak as a Markdown table:
# medians over the passes.
#
#     results.sh ATTEND [PASSES] [bench options, as --isa avx2]
#
# ATTEND is the command; use an idle machine. The scaling column is the gain of two threads over one, divided by the same of the peak.

set -eu
. "$(dirname "$0")/passes.sh"

problems="
b1.h16.q1024.k1024.d64 b8.h12.q512.k512.d64
b1.h32.g8.q2048.k2048.d128:causal b4.h16.q1024.k1024.d128
b1.h8.q8192.k8192.d64:causal b1.h16.q1024.k1024.d64:causal
b32.h12.q128.k128.d64 b32.h12.q128.k128.d64:lengths=16..128 b64.h12.q32.k32.d32
b4.h8.q512.k512.d40 b4.h8.q512.k512.d80 b4.h8.q512.k512.d96 b4.h8.q512.k512.d100
b4.h8.q512.k512.d256 b4.h8.q512.k512.d192.v128"

measure_problems()
{
    for problem in $problems; do measure "$problem"; done
}

in_passes measure_problems
result_lines | awk "$median_function"'
    $2 == 1 && !($1 in count) { order[++problems] = $1 }
    $2 == 1 { n = ++count[$1]; one = $4; one_peak = $5 }
    $2 == 2 { scaling[$1, n] = $4 / one / ($5 / one_peak) }
    { share[$1 " " $2, n] = $6 }
    END {
        print "| problem | 1 thread | 2 threads | scaling |"
        print "|---|---|---|---|"
        for (i = 1; i <= problems; i++) {
            p = order[i]
            printf "| `%s` | %.3f | %.3f | %.3f |\n", p, median(share, p " 1", count[p]), median(share, p " 2", count[p]),
                median(scaling, p, count[p])
        }
    }'
