#!/bin/sh
# Runs the models' problems of the file `shapes`, and problems with and without each option, several times over, in turns, and prints two
# Markdown tables: shares of the multiply-add peak, and what an option costs where it hides nothing. Medians over the passes.
#
#     shapes.sh ATTEND [PASSES] [bench options, as --isa avx2]
#
# PART=shapes or PART=options in the environment leaves the other table out.
# ATTEND is the command; use an idle machine.

set -eu
folder=$(dirname "$0")
. "$folder/passes.sh"

bases="b1.h16.q1024.k1024.d64 b1.h16.q1024.k1024.d128"
options="window=-1,-1 position=0 packed softcap=50 alibi sinks bias:full bias=q:full bias=hq:full
visible:full visible=q:full visible=hq:full bits:full bits=q:full bits=hq:full keysums"

# With the problem right before each option, so that a slow minute hits both.
measure_all()
{
    for problem in $problems; do measure "$problem"; done
    for base in $bases; do
        for option in $options; do measure "$base" "$base:$option"; done
    done
}

problems=$(awk '/^b/ { print $1 }' "$folder/shapes")
case ${PART:-} in
shapes) options= ;;
options) problems= ;;
esac
in_passes measure_all
result_lines >"$results.lines"

test -z "$problems" || awk -F '   *' "$median_function"'
    NR == FNR { if (/^b/) { order[++shapes] = $1; name[shapes] = $2 } next }
    { split($0, part, " "); key = part[1] " " part[2]; share[key, ++count[key]] = part[6] }
    END {
        print "| model | problem | 1 thread | 2 threads |"
        print "|---|---|---|---|"
        for (i = 1; i <= shapes; i++) {
            p = order[i]
            printf "| %s | `%s` | %.3f | %.3f |\n", name[i], p, median(share, p " 1", count[p " 1"]),
                median(share, p " 2", count[p " 2"])
        }
    }' "$folder/shapes" "$results.lines"
test -z "$problems" || test -z "$options" || echo
test -z "$options" || awk -v bases="$bases" -v options="$options" "$median_function"'
    { time[$1, $2] = $7 }
    # The base was measured just before. Of the quickest runs: what others do to the machine only adds time.
    {
        for (b = 1; b <= base_count; b++)
            if (index($1, base[b] ":") == 1) {
                key = $1 " " $2
                ratio[key, ++count[key]] = $7 / time[base[b], $2]
            }
    }
    BEGIN { base_count = split(bases, base, " "); option_count = split(options, option, " ") }
    END {
        line = "| option |"
        rule = "|---|"
        for (b = 1; b <= base_count; b++) {
            line = line " `" base[b] "` | 2 threads |"
            rule = rule "---|---|"
        }
        print line
        print rule
        for (i = 1; i <= option_count; i++) {
            line = "| `" option[i] "` |"
            for (b = 1; b <= base_count; b++)
                for (threads = 1; threads <= 2; threads++) {
                    key = base[b] ":" option[i] " " threads
                    line = line sprintf(" %.3f |", median(ratio, key, count[key]))
                }
            print line
        }
    }' "$results.lines"
