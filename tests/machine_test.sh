#!/bin/sh
# Checks from outside what the command tells about the machine and about plans: attend explain, the drawing of attend
# info, the table of attend bench, and the progress that attend run shows on a terminal. $ATTEND names the command
# (./attend unless set). Prints one line per check and a closing count; fails when any check failed.

suite=machine
. "${TEST_SRCDIR:-.}/tests/shell_checks.sh"

# says WORDS...: succeeded silently, and each of the words stands in the output, wherever its lines are broken.
says()
{
    test $status -eq 0 && test ! -s stderr || return 1
    tr -s ' \n' ' ' <stdout >words
    for words in "$@"; do
        grep -q -F -e "$words" words || { echo "#   missing: $words"; return 1; }
    done
}

# refuses NAME STATUS WORDS ARGUMENT...
refuses()
{
    what=$1 wanted=$2 words=$3
    shift 3
    attend "$@"
    check "$what" refused
}

refused()
{
    test $status -eq $wanted && test ! -s stdout && grep -q -F -e "$words" stderr
}

# Builds without OpenMP have no team: everything runs in the calling thread.
team=yes
"$ATTEND" info | grep -q '^team *none' && team=no && echo "# skipped: what only a team does"

# ---- explain --------------------------------------------------------------------------------------------------------

attend explain b4.h2.q100.k100.d64:causal:lengths=40..100
# The lengths are 40, 60, 80 and 100: 21600 of 40000 pairs are inside, and n(n + 1)/2 of n^2 are visible.
check "explain: pairs of lengths and causal" says "80.0 k padded" "21.9 k visible" "2.8 M multiply-adds" \
    "46.0 % of the padded pairs: outside lengths=40..100" "keys after the causal diagonal" "bottom-right" \
    "6 units only clear the padding rows" "KV tiles of 512 keys"
test $team = no || check "explain: the threshold of the team" says "the job is worth 3.8 M multiply-adds, reading keys included;" "the threshold is"
attend explain b1.h2.q8.k8.d4 --isa portable
check "explain: a small job runs inline" says "in the calling thread" "128 padded, 128 computed, 128 visible" \
    "portable: asked for with --isa" "nothing: every row sees every key" "why inline"
attend explain b2.h1.q600.k1200.d16:causal-top-left --threads 3
check "explain: top-left hides the last keys" says "(top-left)" "keys after the causal diagonal"
test $team = no || check "explain: the team asked for" says "team of 3 threads"
attend explain b1.h1.q6000.k6000.d16:causal:window=255,0 --isa portable
# 255 rows see fewer: 255*256/2 + 5745*256.
check "explain: a window hides both sides" says "36.0 M padded" "1.5 M visible" \
    "of the padded pairs: keys outside window=255,0 or after the row's own, around the diagonal (bottom-right)" \
    "in register tiles that the window cuts"
attend explain b1.h1.q6.k2000.d16:window=1000,0 --isa portable
# The rows see keys 994 to 1999 together, 999 to 1994 all of them: tile 2 is full, 1 and 3 are partial. A register tile has 16 keys.
check "explain: tiles that a window skips" says "1 full, 2 partial, 1 skipped" "12.0 k padded, 6.0 k computed, 6.0 k visible"
attend explain b1.h1.q6.k2000.d16:window=14,0 --isa portable
check "explain: keys before the window fill a register tile" says "0 full, 1 partial, 3 skipped" "192 computed, 90 visible"
attend explain b1.h1.q6.k6.d16:window=2,2 --isa portable
check "explain: a window within a register tile" says "36 padded" "24 visible" "what the window hides lies within register tiles"
attend explain b1.h1.q6.k6.d16:window=-1,5 --isa portable
check "explain: a window that hides nothing" says "36 visible" "nothing: every row sees every key"
attend explain b1.h1.q6.k2000.d16:window=14,0:prefix=600 --isa portable
check "explain: a prefix before a window" says "3.7 k visible" "1 full, 2 partial, 1 skipped" \
    "keys outside window=14,0 around the diagonal (bottom-right), but for the first 600"
attend explain b1.h1.q4.k100.d16:causal:position=9 --isa portable
check "explain: a position" says "46 visible" "keys after the causal diagonal (the first row at key 9)"
attend explain b4.h2.q100.k100.d64:causal:lengths=40..100:packed
check "explain: packed items have no padding" says "43.2 k padded" "21.9 k visible" "packed: an item's rows and keys" \
    "keys after the causal diagonal (bottom-right); "
attend explain b1.h2.q8.k8.d4:softcap=5:bias=hq:bits:alibi:sinks:keysums
check "explain: what options do" says "what options do" "softcap: a tanh per score" "bias: a number read" "bits: read 64 keys" \
    "alibi: slope times distance" "sinks: once per row" "keysums: a second pass"
attend explain b1.h2.q8.k8.d4 --isa portable
check "explain: nothing about options that are not there" sh -c '! grep -q "options do" stdout'
attend explain b1.h1.q0.k4.d8
check "explain: no rows" says "there is no row to compute" "there is no pair"
attend explain b1.h64.q1000000.k1000000.d128:causal
check "explain: takes no memory for tensors" says "64.0 T padded"
attend explain b8.h12.g4.q512.k512.d64
check "explain: grouped heads" says "8 items with 4 kv heads" "3 query heads share a kv head"
refuses "explain: two problems" 2 "'b1.h1.q1.k1.d1' is a second problem" explain b1.h1.q4.k4.d8 b1.h1.q1.k1.d1
refuses "explain: no problem" 2 "a problem is missing" explain --json
refuses "explain: empty problem" 2 "the problem is empty; give one such as b8.h12" explain ""
refuses "explain: width 0" 2 "problem b1.h1.q4.k4.d0.v8: size 'd0': d must be at least 1" explain b1.h1.q4.k4.d0.v8
refuses "explain: garbled problem" 2 "problem b1.x9: size 'x9' is not known" explain b1.x9
refuses "explain: unknown option" 2 "there is no option --cpus" explain b1.h1.q4.k4.d8 --cpus 0
for option in exact fast; do
    refuses "explain: $option is of a later release" 1 "not supported yet by attend 0." explain \
        b1.h1.q4.k4.d8:$option
done

if python3 -c '' 2>/dev/null; then
    cat >explain.py <<'END'
import json, sys
plan = json.load(open("stdout"))
assert plan["problem"] == "b4.h2.q100.k100.d64:causal:lengths=40..100" and plan["threads"] in (0, 2)
n = [40, 60, 80, 100]
visible = 2 * sum(x * (x + 1) // 2 for x in n)
assert plan["pairs"]["padded"] == 80000 and plan["pairs"]["visible"] == visible
assert visible <= plan["pairs"]["computed"] <= 2 * sum(x * x for x in n)
assert plan["multiply_adds"] == visible * 128 and plan["inline_limit"] > 0
assert plan["work"] >= visible * 128 and plan["pieces"] == 0
assert plan["inline"] is (plan["threads"] == 0 or plan["work"] < plan["inline_limit"])
assert plan["padding_units"] == 3 * 2 < plan["units"] and plan["blocks"]["kv_tile"] == 512
assert sum(plan["tiles"].values()) == plan["units"] - plan["padding_units"]
assert plan["workspace_bytes"] > plan["scratch_bytes"] > 0
assert set(plan["why"]) == {"kernel", "kv_tile", "place", "units", "skipped"}
END
    attend explain b4.h2.q100.k100.d64:causal:lengths=40..100 --threads 2 --json
    check "explain --json is what it should be" python3 explain.py
    "$ATTEND" info --json >stdout 2>stderr
    check "info --json still has its entries" python3 -c 'import json
info = json.load(open("stdout"))
assert {"version", "isas", "machine", "engine", "members", "cpus", "limits"} <= set(info)
assert len(info["members"]) == info["engine"]["threads"]'
else
    echo "# skipped: no python3"
fi

# ---- info -----------------------------------------------------------------------------------------------------------

LC_ALL=C "$ATTEND" info >stdout 2>stderr
status=$?
check "info draws in ASCII" says "CPU" '`- '
ascii_only() { ! LC_ALL=C grep -q "$(printf '[\200-\377]')" stdout; }
check "no other byte in ASCII" ascii_only
if locale -a 2>/dev/null | grep -q -i -e '^C\.utf-*8$'; then
    LC_ALL=C.UTF-8 "$ATTEND" info >stdout 2>stderr
    status=$?
    check "info draws boxes in UTF-8" says "└─ "
fi
cpu=$("$ATTEND" info --json | tr -d ' \n' | sed -n 's/.*"members":\[{[^}]*"cpu":\([0-9][0-9]*\).*/\1/p')
refuses "info: a CPU that does not exist" 1 "attend info: --cpus[0] is 99999; " info --cpus 99999
test -z "$cpu" || refuses "info: a CPU twice" 1 "attend info: --cpus[1] is $cpu, and so is --cpus[0]; " info \
    --cpus $cpu,$cpu
attend info --threads 4000
warned() { test $status -eq 0 && grep -q '^attend info: --threads is 4000, more than the usable CPUs' stderr; }
test $team = no || check "info: more threads than CPUs" warned
attend info --threads 1 --bind off
test $team = no || check "info previews an unbound team" says "1 thread, not bound" "eligible"

# ---- bench ----------------------------------------------------------------------------------------------------------

"$ATTEND" bench b1.h2.q64.k64.d16 b1.h1.q8.k8.d8 --threads 1,2 --repeat 1 >stdout 2>stderr
status=$?
narrow_table() { test $status -eq 0 && ! tail -n +3 stdout | grep -q '.\{81,\}'; }
check "the table fits 80 columns" narrow_table
four_lines() { test "$(grep -c '^ *[12] .* %' stdout)" -eq 4 && test "$(grep -c 'median ms' stdout)" -eq 2; }
check "a line for each problem and thread count" four_lines
first_does_not_scale() { test "$(grep -c '^ *1 .* -$' stdout)" -eq 2 && test "$(grep -c '^ *[12] .* %$' stdout)" -eq 2; }
check "scaling counts from the first line" first_does_not_scale

# Every result is checked against float64 before it is reported.
for problem in b3.h4.g2.q20.k20.d8:causal:lengths=2..20:packed b2.h2.q9.k30.d8:bias=bhq:softcap=2 \
    b2.h2.q9.k30.d8:visible=bq:bias:scale=2:alibi b2.h2.q9.k30.d8:bits=h:sinks:causal:position=3:prefix=5 \
    b3.h2.q20.k20.d8:packed:lengths=0..20:bits=q:bias=h:window=3,0:keysums b2.h3.q9.k30.d8:bits=bhq:bias=q:full:keysums; do
    attend bench $problem --repeat 1
    check "bench $problem" grep -q '^ *[0-9].* -$' stdout
done

# ---- progress -------------------------------------------------------------------------------------------------------

# zeros FILE ROWS: heads 2, width 64, all zero.
zeros()
{
    printf '\223NUMPY\001\000\166\000' >"$1"
    printf '%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, $2, 64), }" >>"$1"
    head -c $((2 * $2 * 64 * 4)) /dev/zero >>"$1"
}

# terminal COLUMNS COMMAND: runs a shell command on a pseudo terminal; leaves $status and the file stdout.
terminal()
{
    : >stderr
    SHELL=/bin/sh script -q -e -c "stty columns $1; $2" stdout </dev/null >/dev/null 2>&1
    status=$?
}

frames()
{
    tr '\r' '\n' <stdout | grep -E '^ *[0-9]+ % +\['
}

# Timing decides nothing: a machine that is done within a second may show no progress.
took_long()
{
    tr '\r' '\n' <stdout | grep -q -E '; ([2-9]|[1-9][0-9]+|1\.[0-9]*)( |\.[0-9]+ )s for one run'
}

progress_shown()
{
    test $status -eq 0 || return 1
    took_long || { echo "# skipped: the run is over too soon"; return 0; }
    frames | grep -q -E '^ *[0-9]+ % \[[#.]+\]  .*GFLOP/s  .*left'
}

narrow_frames() { ! frames | grep -q '.\{40,\}'; }
wiped() { test -z "$(frames)" || tr '\r' '\n' <stdout | grep -q -E '^ {30,}$'; }
nothing_shown() { test $status -eq 0 && test -z "$(frames)"; }
# 124 is the status of timeout when it had to interrupt.
no_files() { test -z "$(ls | grep '^o\.npy\.')" && { test $status -ne 124 || test ! -e o.npy; }; }

if pseudo_terminal; then
    zeros in.npy 4096
    tensors="--query in.npy --key in.npy --value in.npy --output o.npy"
    run="env LC_ALL=C '$ATTEND' run $tensors --isa portable --threads 1"
    terminal 40 "$run"
    check "progress on a terminal of 40 columns" progress_shown
    check "progress fits the terminal" narrow_frames
    check "progress is wiped" wiped
    rm -f o.npy
    terminal 80 "timeout --foreground -s INT 0.9 $run"
    check "an interrupted run leaves no file" no_files
    check "an interrupted run wipes its progress" wiped
    rm -f o.npy
    zeros in.npy 64
    terminal 80 "$run"
    check "a short run shows no progress" nothing_shown
    zeros in.npy 2048
    terminal 80 "$run --quiet"
    check "--quiet shows no progress" nothing_shown
    rm -f o.npy
fi

finish
