#!/bin/sh
# Runs the problems of RESULTS.md several times over, in turns, and prints their shares of the multiply-add peak as a Markdown table:
# medians over the passes.
#
#     results.sh ATTEND [PASSES] [bench options, as --isa avx2]
#
# ATTEND is the command; use an idle machine. The scaling column is the gain of two threads over one, divided by the same of the peak.

set -eu
attend=$1
passes=${2-5}
test $# -lt 2 || shift
shift

problems="
b1.h16.q1024.k1024.d64 b8.h12.q512.k512.d64
b1.h32.g8.q2048.k2048.d128:causal b4.h16.q1024.k1024.d128
b1.h8.q8192.k8192.d64:causal b1.h16.q1024.k1024.d64:causal
b32.h12.q128.k128.d64 b32.h12.q128.k128.d64:lengths=16..128 b64.h12.q32.k32.d32
b4.h8.q512.k512.d40 b4.h8.q512.k512.d80 b4.h8.q512.k512.d96 b4.h8.q512.k512.d100
b4.h8.q512.k512.d256 b4.h8.q512.k512.d192.v128"

results=$(mktemp "${TMPDIR:-/tmp}/attend-results.XXXXXX")
trap 'rm -f "$results"' EXIT
trap 'exit 1' HUP INT TERM
pass=0
while test $pass -lt "$passes"; do
    pass=$((pass + 1))
    test ! -t 2 || echo "pass $pass of $passes" >&2
    for problem in $problems; do
        "$attend" bench "$problem" --threads 1,2 --json "$@" 2>/dev/null >>"$results"
    done
done
awk '
    # Sorts list[1 … n] and returns its median.
    function median(list, n,    i, k, x) {
        for (i = 2; i <= n; i++) {
            x = list[i]
            for (k = i - 1; k >= 1 && list[k] > x; k--) list[k + 1] = list[k]
            list[k + 1] = x
        }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    function column(values, key, n,    i, list) {
        for (i = 1; i <= n; i++) list[i] = values[key, i]
        return sprintf("%.3f", median(list, n))
    }
    { gsub(/[",]/, "") }
    $1 == "problem:" { problem = $2; if (!(problem in count)) order[++problems] = problem }
    $1 == "threads:" { threads = $2; if (threads == 1) count[problem]++ }
    $1 == "flop_rate:" { rate = $2 }
    $1 == "peak_flop_rate:" { peak = $2 }
    $1 == "peak_fraction:" {
        n = count[problem]
        share[problem " " threads, n] = $2
        if (threads == 1) { one = rate; one_peak = peak }
        else scaling[problem, n] = rate / one / (peak / one_peak)
    }
    END {
        print "| problem | 1 thread | 2 threads | scaling |"
        print "|---|---|---|---|"
        for (i = 1; i <= problems; i++) {
            p = order[i]
            printf "| `%s` | %s | %s | %s |\n", p, column(share, p " 1", count[p]), column(share, p " 2", count[p]),
                column(scaling, p, count[p])
        }
    }' "$results"
