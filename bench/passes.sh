# What the scripts that print tables of measurements share; sourced by them. They give ATTEND [PASSES] [bench options, as --isa avx2]
# on.

attend=$1
passes=${2-5}
test $# -lt 2 || shift
shift
bench_options=$*
results=$(mktemp "${TMPDIR:-/tmp}/attend-results.XXXXXX")
trap 'rm -f "$results" "$results".*' EXIT
trap 'exit 1' HUP INT TERM

# measure PROBLEM...: with one thread and with two, in one process.
measure()
{
    "$attend" bench "$@" --threads 1,2 --json $bench_options 2>"$results.errors" >>"$results" || {
        cat "$results.errors" >&2
        exit 1
    }
}

# in_passes FUNCTION: calls it, which measures all that is to be compared, several times over.
in_passes()
{
    pass=0
    while test $pass -lt "$passes"; do
        pass=$((pass + 1))
        test ! -t 2 || echo "pass $pass of $passes" >&2
        "$1"
    done
}

# What was measured, a line each: problem, threads, median_s, flop_rate, peak_flop_rate, peak_fraction, min_s.
result_lines()
{
    awk '
        { gsub(/"/, ""); sub(/,$/, "") }
        $1 == "problem:" { problem = $2 }
        $1 ~ /^(threads|median_s|min_s|flop_rate|peak_flop_rate):$/ { value[$1] = $2 }
        $1 == "peak_fraction:" {
            print problem, value["threads:"], value["median_s:"], value["flop_rate:"], value["peak_flop_rate:"], $2, value["min_s:"]
        }' "$results"
}

# awk: the median of values[key, 1 … n].
median_function='
    function median(values, key, n,    i, k, x, list) {
        for (i = 1; i <= n; i++) {
            x = values[key, i]
            for (k = i - 1; k >= 1 && list[k] > x; k--) list[k + 1] = list[k]
            list[k + 1] = x
        }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }'
