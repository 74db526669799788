#!/bin/sh
# Checks the attend command from outside: exit statuses, messages, files that appear and files that must not, and
# results against numbers computed by hand and, where python3 has NumPy, by NumPy. $ATTEND names the command (./attend
# unless set). Prints one line per check and a closing count; fails when any check failed.

suite=command
. "${TEST_SRCDIR:-.}/tests/shell_checks.sh"

# npy FILE DESCR FORTRAN SHAPE DATA: writes a .npy file. DATA is a printf format of octal escapes.
npy()
{
    printf '\223NUMPY\001\000\166\000' >"$1"
    printf '%-117s\n' "{'descr': '$2', 'fortran_order': $3, 'shape': $4, }" >>"$1"
    printf "$5" >>"$1"
}

zero='\000\000\000\000' one='\000\000\200\077' two='\000\000\000\100' three='\000\000\100\100' nan='\000\000\300\177'

# bytes FILE: its data after the header of 128 bytes, in hexadecimal.
bytes()
{
    tail -c +129 "$1" | od -An -v -tx1 | tr -d ' \n'
}

no_files_left()
{
    test -z "$(ls | grep -v -e '^in' -e '^std')"
}

# refuses NAME STATUS WORDS ARGUMENT...: the status, a first line with the words, and no file left.
refuses()
{
    what=$1 wanted=$2 words=$3
    shift 3
    attend "$@"
    check "$what" refused
    remove_outputs
}

refused()
{
    lines=$(wc -l <stderr)
    # Wrong usage adds one line, the hint to --help.
    test $status -eq $wanted && test ! -s stdout && test $((lines)) -eq $wanted &&
        grep -q -F -e "$words" stderr && no_files_left
}

remove_outputs()
{
    ls | grep -v -e '^in' -e '^std' | xargs rm -rf
}

# runs NAME OUTPUT-BYTES ARGUMENT...: succeeds and writes o.npy with these bytes.
runs()
{
    what=$1 expected=$2
    shift 2
    attend run --quiet --output o.npy "$@"
    check "$what" ran
    rm -f o.npy
}

ran()
{
    test $status -eq 0 && test ! -s stdout && test ! -s stderr && test "$(bytes o.npy)" = "$expected"
}

# ---- help, version, wrong usage -------------------------------------------------------------------------------------

says()
{
    test $status -eq 0 && test ! -s stderr && grep -q -F -e "$1" stdout
}

attend --version
check "--version" says "attend 0."
attend --help
check "--help lists the commands" says "bench"
for command in run info bench show; do
    attend $command --help
    check "$command --help has an example" says "attend $command"
done
attend help
check "help" says "Commands:"
refuses "no command" 2 "command is missing"
refuses "unknown command" 2 "no command 'walk'" walk
refuses "run without arguments" 2 "--query is missing" run
refuses "unknown option" 2 "--walk" run --walk
refuses "option without value" 2 "--query needs a value" run --query
refuses "value for a flag" 2 "--quiet=1 takes no value" run --quiet=1
refuses "bench without a problem" 2 "problem is missing" bench
refuses "info with an argument" 2 "'more' is not an option" info more

# ---- results computed by hand ---------------------------------------------------------------------------------------

# Queries of 0 see all keys alike: the context is the mean of the visible values.
npy in_q.npy '<f4' False '(2, 2)' "$zero$zero$zero$zero"
npy in_k.npy '<f4' False '(3, 2)' "$one$zero$zero$one$one$one"
npy in_v.npy '<f4' False '(3, 1)' "$one$three$two"
hex_zero=00000000 hex_one=0000803f hex_two=00000040 hex_three=00004040
tensors="--query in_q.npy --key in_k.npy --value in_v.npy"
files="$tensors --output o.npy"
npy in_length.npy '<i4' False '(1,)' '\002\000\000\000'
npy in_start.npy '<i8' False '(1,)' '\001\000\000\000\000\000\000\000'
npy in_end.npy '<i4' False '(1,)' '\003\000\000\000'
npy in_none.npy '<i4' False '(1,)' '\000\000\000\000'
npy in_minus.npy '<i4' False '(1,)' '\377\377\377\377'
npy in_visible.npy '|b1' False '(2, 3)' '\001\000\000\000\000\001'
npy in_left.npy '|b1' False '(1, 3)' '\001\001\000'
npy in_zero.npy '<i4' False '(1,)' '\000\000\000\000'
npy in_row.npy '|u1' False '(1, 3)' '\000\007\000'

runs "all keys visible" "$hex_two$hex_two" $tensors
runs "key lengths" "$hex_two$hex_two" $tensors --key-lengths in_length.npy
runs "start at the end, length 0" "$hex_zero$hex_zero" $tensors --key-starts in_end.npy --key-lengths in_none.npy
runs "query lengths" "$hex_two$hex_zero" $tensors --query-lengths in_start.npy
runs "causal top-left" "$hex_one$hex_two" $tensors --causal top-left
runs "causal bottom-right" "$hex_two$hex_two" $tensors --causal bottom-right --key-lengths in_end.npy
runs "positions" "$hex_zero$hex_one" $tensors --causal top-left --positions in_minus.npy
runs "window of the row's own key, the last two" "$hex_three$hex_two" $tensors --window 0,0
runs "window and diagonal" "$hex_one$hex_three" $tensors --window 0,0 --diagonal top-left
runs "window without bounds, causal" "$hex_two$hex_two" $tensors --window -1,-1 --causal bottom-right --key-lengths in_end.npy
runs "window to the right only" "$hex_two$hex_three" $tensors --window 0,-1 --positions in_zero.npy --visible in_left.npy
runs "window and positions: nothing in sight, then the first key" "$hex_zero$hex_one" $tensors --window 0,0 \
    --positions in_minus.npy
runs "window as wide as numbers go" "$hex_two$hex_two" $tensors --window 9223372036854775807,9223372036854775807
runs "visible by row and key" "$hex_one$hex_two" $tensors --visible in_visible.npy
runs "visible broadcast over rows" "$hex_three$hex_three" $tensors --visible in_row.npy
runs "scale 0" "$hex_two$hex_two$hex_zero" --query in_k.npy --key in_k.npy --value in_v.npy --scale 0 \
    --query-lengths in_length.npy
inf='\000\000\200\177' minus_inf='\000\000\200\377' hundred='\000\000\310\102' hex_one_half=0000c03f hex_two_half=00002040
npy in_tail.npy '|b1' False '(1, 2)' '\000\001'
runs "visible for the last two keys" "$hex_one_half$hex_one_half" $tensors --visible in_tail.npy --visible-tail 2
npy in_five.npy '|b1' False '(2, 5)' '\000\000\001\000\001\000\000\000\001\001'
runs "visible for more keys than there are" "$hex_one_half$hex_two_half" $tensors --visible in_five.npy --visible-tail 5
runs "prefix of a causal run" "$hex_two$hex_two" $tensors --causal top-left --prefix-lengths in_length.npy
runs "prefix of a window" "$hex_two$hex_two" $tensors --window 0,0 --diagonal top-left --prefix-lengths in_length.npy
npy in_bias.npy '<f4' False '(2, 3)' "$zero$minus_inf$minus_inf$minus_inf$zero$zero"
runs "bias by row and key hides" "$hex_one$hex_two_half" $tensors --bias in_bias.npy
npy in_push.npy '<f4' False '(1, 1, 1, 3)' "$zero$hundred$zero"
# The others have e^-100 of its weight.
runs "bias of all rows pushes a key" "$hex_three$hex_three" $tensors --bias in_push.npy
npy in_lowest.npy '<f4' False '(1, 3)' '\377\377\177\377\377\377\177\377\377\377\177\377'
runs "the lowest bias hides nothing" "$hex_two$hex_two" $tensors --bias in_lowest.npy
npy in_high.npy '<f4' False '(2, 2)' "$hundred$hundred$hundred$hundred"
npy in_rise.npy '<f4' False '(3, 1)' "$one$two$three"
runs "high scores: the highest takes all" "$hex_three$hex_three" --query in_high.npy --key in_k.npy --value in_rise.npy
runs "softcap: high scores are alike" "$hex_two$hex_two" --query in_high.npy --key in_k.npy --value in_rise.npy --softcap 1
npy in_slope.npy '<f4' False '(1,)' "$hundred"
runs "ALiBi: a steep slope, the last two keys" "$hex_three$hex_two" $tensors --alibi-slopes in_slope.npy
runs "ALiBi and diagonal" "$hex_one$hex_three" $tensors --alibi-slopes in_slope.npy --diagonal top-left
npy in_slope8.npy '<f8' False '(1,)' '\000\000\000\000\000\000\160\077'
attend run $files --alibi-slopes in_slope8.npy --quiet
expected=$(bytes o.npy)
rm -f o.npy
runs "the usual slope of one head is 2^-8" "$expected" $tensors --alibi
npy in_sink.npy '<f4' False '(1,)' "$zero"
runs "a sink takes a quarter" "$hex_one_half$hex_one_half" $tensors --sinks in_sink.npy
npy in_no_sink.npy '<f4' False '(1,)' "$minus_inf"
runs "no sink" "$hex_two$hex_two" $tensors --sinks in_no_sink.npy
long() { printf '\\%03o\\000\\000\\000\\000\\000\\000\\000' "$@"; }
npy in_rows.npy '<i8' False '(3,)' "$(long 0 1 2)"
npy in_keys.npy '<i4' False '(3,)' '\000\000\000\000\001\000\000\000\003\000\000\000'
packed="--query-offsets in_rows.npy --key-offsets in_keys.npy"
runs "packed items" "$hex_one$hex_two_half" $tensors $packed
npy in_q3.npy '<f4' False '(1, 2, 2)' "$zero$zero$zero$zero"
npy in_k3.npy '<f4' False '(1, 3, 2)' "$one$zero$zero$one$one$one"
npy in_v3.npy '<f4' False '(1, 3, 1)' "$one$three$two"
runs "packed items of three axes" "$hex_one$hex_two_half" --query in_q3.npy --key in_k3.npy --value in_v3.npy $packed
npy in_k2.npy '<f4' False '(2, 1, 3, 1)' "$one$three$two$two$three$one"
npy in_q1.npy '<f4' False '(1, 2, 1)' "$zero$zero"
npy in_lengths.npy '<i4' False '(2,)' '\003\000\000\000\001\000\000\000'
runs "packed queries, padded keys" "$hex_two$hex_two" --query in_q1.npy --key in_k2.npy --value in_k2.npy \
    --query-offsets in_rows.npy --key-lengths in_lengths.npy
npy in_q2.npy '<f4' False '(2, 1, 1, 2)' "$zero$zero$zero$zero"
runs "padded queries, packed keys" "$hex_one$hex_two_half" --query in_q2.npy --key in_k.npy --value in_v.npy \
    --key-offsets in_keys.npy
runs "a deadline that is far" "$hex_two$hex_two" $tensors --deadline 1e30
npy in_nan.npy '<f4' False '(3, 1)' "$one$three$nan"
runs "NaN in the padding stays there" "$hex_two$hex_two" --query in_q.npy --key in_k.npy --value in_nan.npy \
    --key-lengths in_length.npy
npy in_order.npy '<f4' True '(3, 2)' "$one$zero$one$zero$one$one"
npy in_double.npy '<f8' False '(3, 1)' \
    '\000\000\000\000\000\000\360\077\000\000\000\000\000\000\010\100\000\000\000\000\000\000\000\100'
attend run --query in_k.npy --key in_k.npy --value in_v.npy --output o.npy --quiet
expected=$(bytes o.npy)
rm -f o.npy
runs "Fortran order" "$expected" --query in_k.npy --key in_order.npy --value in_v.npy
runs "float64 values" "$expected" --query in_k.npy --key in_k.npy --value in_double.npy
runs "one thread, portable code" "$expected" --query in_k.npy --key in_k.npy --value in_v.npy --threads 1 --isa portable

reports()
{
    test $status -eq 0 && test ! -s stdout && grep -q -F -e "$1" stderr
}

attend run --query in_q.npy --key in_k.npy --value in_double.npy --output o.npy
check "float64 is told" reports "--value in_double.npy is float64, rounded to float32"
check "what ran is told" reports "2 rows, 3 keys"
rm -f o.npy

same_files()
{
    test $status -eq 0 && cmp -s "$1" "$2"
}

attend run $files --lse l.npy --weights w.npy --quiet
third=abaaaa3e
check "weights" test "$(bytes w.npy)" = "$third$third$third$third$third$third"
check "LSE is ln 3" test "$(bytes l.npy)" = "549f8c3f549f8c3f"
rm -f o.npy l.npy w.npy
attend run $files --lse l.npy --weights w.npy --key-sums s.npy --sinks in_sink.npy --quiet
check "LSE leaves the sink out" test "$(bytes l.npy)" = "549f8c3f549f8c3f"
fourth=0000803e half=0000003f
check "weights with a sink" test "$(bytes w.npy)" = "$fourth$fourth$fourth$fourth$fourth$fourth"
check "key sums" test "$(bytes s.npy)" = "$half$half$half"
check "shape of the key sums" grep -a -q "'shape': (1, 1, 3)" s.npy
rm -f o.npy l.npy w.npy s.npy
attend run --query in_q3.npy --key in_k3.npy --value in_v3.npy $packed --output o.npy --lse l.npy --key-sums s.npy --quiet
check "shape of a packed output" grep -a -q "'shape': (1, 2, 1)" o.npy
check "shape of a packed LSE" grep -a -q "'shape': (1, 1, 2)" l.npy
check "packed key sums" test "$(bytes s.npy)" = "${hex_one}$half$half"
rm -f o.npy l.npy s.npy
attend run $files --sinks in_slope8.npy
check "float64 sinks are told" reports "--sinks in_slope8.npy is float64, rounded to float32"
rm -f o.npy
attend run $files --lse l.npy --weights w.npy --quiet
check "only the outputs appear" test "$(ls | grep -v -e '^in' -e '^std' | tr '\n' ' ')" = "l.npy o.npy w.npy "
attend run $files --positions in_minus.npy
check "positions without causal are told" reports "attend run: --positions has no effect without --causal, --window or --alibi"
attend run $files --diagonal top-left
check "a diagonal without causal is told" reports "attend run: --diagonal has no effect without --causal, --window or --alibi"
attend run $files --diagonal top-left --window 1,1
check "a diagonal with a window is not" sh -c '! grep -q "has no effect" stderr'
attend run $files --prefix-lengths in_length.npy --alibi
check "a prefix without causal is told" reports "attend run: --prefix-lengths has no effect without --causal or --window"
attend run $files --positions in_minus.npy --alibi
check "positions with ALiBi are not" sh -c '! grep -q "has no effect" stderr'
attend run $files --diagonal top-left --quiet
check "nothing is told with --quiet" test ! -s stderr
cp o.npy in_before.npy
attend run --query in_none.npy --key in_k.npy --value in_v.npy --output o.npy
check "a failed run leaves an old output alone" cmp -s o.npy in_before.npy
attend run $tensors --output in_new.npy --quiet
check "an output may be replaced" same_files in_new.npy o.npy
rm -f o.npy l.npy w.npy in_new.npy

# ---- refusals -------------------------------------------------------------------------------------------------------

run_refuses()
{
    what=$1 words=$2
    shift 2
    refuses "$what" 1 "$words" run --output o.npy "$@"
}

run_refuses "missing file" "--key in_missing.npy cannot be opened: No such file" \
    --query in_q.npy --key in_missing.npy --value in_v.npy
run_refuses "folder as a file" "--key . cannot be read: Is a directory" --query in_q.npy --key . --value in_v.npy
run_refuses "integers as keys" "--key in_end.npy has dtype <i4; cast it with array.astype('float32')" \
    --query in_q.npy --key in_end.npy --value in_v.npy
npy in_big.npy '>f4' False '(3, 2)' "$one$zero$zero$one$one$one"
run_refuses "big-endian keys" "--key in_big.npy has dtype >f4; cast it" \
    --query in_q.npy --key in_big.npy --value in_v.npy
npy in_half.npy '<f2' False '(3, 2)' "$one$zero$zero"
run_refuses "keys and values of two types" \
    "--value in_v.npy is float32 and --key in_half.npy is float16; they must have one type, which --dtype gives them" \
    --query in_q.npy --key in_half.npy --value in_v.npy
npy in_bf16.npy '<u2' False '(3, 2)' "$one$zero$zero"
run_refuses "uint16 as keys" "--key in_bf16.npy has dtype <u2; with --bf16 such files hold bfloat16" \
    --query in_q.npy --key in_bf16.npy --value in_v.npy
npy in_object.npy '|O' False '(3, 2)' "$one"
run_refuses "Python objects" "--key in_object.npy has dtype |O, Python objects" \
    --query in_q.npy --key in_object.npy --value in_v.npy
run_refuses "floats as lengths" "--key-lengths in_v.npy has dtype <f4; cast it with array.astype('int64')" \
    $tensors --key-lengths in_v.npy
run_refuses "floats as visible" "--visible in_v.npy has dtype <f4; cast it with array.astype('bool')" \
    $tensors --visible in_v.npy
run_refuses "values fewer than keys" "--value in_q.npy has shape (2, 2); its number of rows must be 3 as in --key" \
    --query in_q.npy --key in_k.npy --value in_q.npy
run_refuses "widths differ" "--key in_v.npy has shape (3, 1); its width must be 2 as in --query" \
    --query in_q.npy --key in_v.npy --value in_v.npy
npy in_three.npy '<f4' False '(3, 2, 1)' "$one$zero$zero$one$one$one"
run_refuses "three axes" \
    "--key in_three.npy has shape (3, 2, 1); it must be (batch, heads, rows, width) or (rows, width)" \
    --query in_q.npy --key in_three.npy --value in_v.npy
npy in_heads.npy '<f4' False '(1, 3, 1, 2)' "$one$zero$zero$one$one$one"
npy in_heads2.npy '<f4' False '(1, 2, 1, 2)' "$one$zero$zero$one"
run_refuses "heads that do not divide" "must be a multiple" \
    --query in_heads.npy --key in_heads2.npy --value in_heads2.npy
npy in_heads4.npy '<f4' False '(1, 4, 1, 1)' "$one$zero$zero$one"
npy in_heads3.npy '<f4' False '(1, 3, 1, 1)' "$one$zero$zero"
run_refuses "key heads that do not divide, before value heads" \
    "--query in_heads4.npy has 4 heads and --key in_heads3.npy 3; the first must be a multiple of the second" \
    --query in_heads4.npy --key in_heads3.npy --value in_heads2.npy
npy in_long.npy '<i4' False '(1,)' '\004\000\000\000'
run_refuses "length beyond the keys" "--key-lengths in_long.npy is 4 for item 0; it must be from 0 to 3" \
    $tensors --key-lengths in_long.npy
run_refuses "length beyond the start" "--key-lengths in_end.npy is 3 for item 0; it must be from 0 to 2" \
    $tensors --key-lengths in_end.npy --key-starts in_start.npy
run_refuses "negative length" "--key-lengths in_minus.npy is -1" $tensors --key-lengths in_minus.npy
run_refuses "start beyond the rows" "--query-starts in_end.npy is 3 for item 0; it must be from 0 to 2" \
    $tensors --query-starts in_end.npy
npy in_pair.npy '<i4' False '(2,)' '\001\000\000\000\001\000\000\000'
run_refuses "lengths of another batch" "--key-lengths in_pair.npy has shape (2,); it must be (batch,), here (1,)" \
    $tensors --key-lengths in_pair.npy
npy in_narrow.npy '|b1' False '(2, 2)' '\001\000\000\001'
run_refuses "visible of too few keys" "--visible in_narrow.npy has shape (2, 2); it must be" \
    $tensors --visible in_narrow.npy
npy in_far.npy '<i8' False '(1,)' '\000\000\000\000\000\000\000\100'
run_refuses "position out of range" "--positions in_far.npy is 4611686018427387904" $tensors --positions in_far.npy
npy in_wide0.npy '<f4' False '(2, 0)' ''
run_refuses "width 0 without scale" "--query in_wide0.npy has shape (2, 0); its width is 0, so --scale must be given" \
    --query in_wide0.npy --key in_wide0.npy --value in_q.npy
run_refuses "visible of another tail" "--visible in_left.npy has shape (1, 3); it must be (batch, heads, rows, keys of --visible-tail), here (1, 1, 2, 2)" \
    $tensors --visible in_left.npy --visible-tail 2
run_refuses "float64 as bias" "--bias in_double.npy has dtype <f8; cast it with array.astype('float32')" $tensors --bias in_double.npy
run_refuses "bias of too few keys" "--bias in_q.npy has shape (2, 2); it must be (batch, heads, rows, keys), here (1, 1, 2, 3)" \
    $tensors --bias in_q.npy
run_refuses "sinks of other heads" "--sinks in_keys.npy has dtype <i4; cast it" $tensors --sinks in_keys.npy
npy in_two.npy '<f4' False '(2,)' "$zero$zero"
run_refuses "sinks of more heads" "--sinks in_two.npy has shape (2,); it must be (heads,), here (1,)" $tensors --sinks in_two.npy
npy in_inf.npy '<f4' False '(1,)' "$inf"
run_refuses "an infinite sink" "--sinks[0] is inf; it must be finite, or -inf for none" $tensors --sinks in_inf.npy
run_refuses "an infinite slope" "--alibi-slopes[0] is inf; it must be finite" $tensors --alibi-slopes in_inf.npy
run_refuses "a negative prefix" "--prefix-lengths[0] is -1; it must be at least 0" $tensors --causal top-left \
    --prefix-lengths in_minus.npy
npy in_first.npy '<i8' False '(3,)' "$(long 1 1 2)"
npy in_down.npy '<i8' False '(4,)' "$(long 0 2 1 2)"
npy in_down3.npy '<i8' False '(4,)' "$(long 0 1 1 3)"
npy in_short.npy '<i8' False '(3,)' "$(long 0 1 1)"
npy in_empty.npy '<i8' False '(0,)' ''
npy in_flat.npy '<i8' False '(1, 3)' "$(long 0 1 2)"
run_refuses "offsets that begin late" "--query-offsets[0] is 1; it must be 0" $tensors --query-offsets in_first.npy \
    --key-offsets in_keys.npy
run_refuses "offsets that go down" "--query-offsets[2] is 1; it must be at least the one before (2)" \
    $tensors --query-offsets in_down.npy --key-offsets in_down3.npy
run_refuses "offsets that end early" "--query-offsets in_short.npy ends with 1; it must end with 2, the number of query rows" \
    $tensors --query-offsets in_short.npy --key-offsets in_keys.npy
run_refuses "offsets of another batch" "--key-offsets in_down.npy has shape (4,); it must be (batch + 1,), here (3,)" \
    $tensors --query-offsets in_rows.npy --key-offsets in_down.npy
run_refuses "no offset at all" "--query-offsets in_empty.npy has shape (0,); it must be (batch + 1,), here (1,)" \
    $tensors --query-offsets in_empty.npy --key-offsets in_empty.npy
run_refuses "offsets of two axes" "--query-offsets in_flat.npy has shape (1, 3); it must be (batch + 1,)" \
    $tensors --query-offsets in_flat.npy --key-offsets in_flat.npy
run_refuses "keys of another batch than the offsets" "--key in_k.npy has shape (3, 2); its batch must be 2 as in --query-offsets" \
    $tensors --query-offsets in_rows.npy
run_refuses "packed tensors with a batch" \
    "--query in_q2.npy has shape (2, 1, 1, 2); packed, it must be (1, heads, tokens, width), (heads, tokens, width) or" \
    --query in_q2.npy --key in_k.npy --value in_v.npy $packed
run_refuses "three axes that are not packed" "--query in_q3.npy has shape (1, 2, 2); it must be (batch, heads, rows, width)" \
    --query in_q3.npy --key in_k.npy --value in_v.npy --key-offsets in_keys.npy
run_refuses "bad values with --quiet" "--key-lengths in_long.npy is 4" --quiet $tensors --key-lengths in_long.npy

# ---- files that are no .npy files -----------------------------------------------------------------------------------

key_refuses()
{
    run_refuses "$1" "--key in_bad.npy $2" --query in_q.npy --key in_bad.npy --value in_v.npy
}

head -c 140 in_k.npy >in_bad.npy
key_refuses "truncated data" "is truncated: the header promises 24 bytes of data, the file has 12"
head -c 60 in_k.npy >in_bad.npy
key_refuses "truncated header" "is truncated: it ends within its header"
head -c 9 in_k.npy >in_bad.npy
key_refuses "truncated prefix" "is truncated: it ends within its header"
: >in_bad.npy
key_refuses "empty file" "is not a .npy file"
echo 'token,q_0,q_1' >in_bad.npy
key_refuses "text" "is not a .npy file"
printf '\223NUMPY\011\000\166\000' >in_bad.npy
key_refuses "version 9" "has .npy version 9.0; versions 1 to 3 are read"
printf '\223NUMPY\002\000\377\377\377\177' >in_bad.npy
key_refuses "huge header" "promises a header of 2147483647 bytes"
npy in_bad.npy '<f4' False '(3, -2)' ''
key_refuses "negative extent" "has a negative extent in its shape"
npy in_bad.npy '<f4' False '(99999999999999999999, 2)' ''
key_refuses "extent beyond 64 bits" "has an extent beyond 64 bits in its shape"
npy in_bad.npy '<f4' False '(4294967296, 4294967296)' ''
key_refuses "overflowing shape" "has a shape whose size in bytes overflows"
npy in_bad.npy '<f4' False '(1099511627776, 2)' ''
key_refuses "a promise of terabytes" "is truncated: the header promises 8796093022208 bytes of data, the file has 0"
npy in_bad.npy '<f4' Maybe '(3, 2)' ''
key_refuses "order that is no order" "has a garbled header"
npy in_bad.npy '<f4' False '(3, 2' ''
key_refuses "shape without end" "has a garbled header"
npy in_bad.npy '<f4' False '(3, 2)} {' ''
key_refuses "text after the dictionary" "has a garbled header"
npy in_bad.npy '<f4' False "(3, 2), 'shape': (3, 2)" ''
key_refuses "shape given twice" "has a garbled header"
npy in_bad.npy '<f4' False "(3, 2), 'more': 1" ''
key_refuses "unknown entry" "has a garbled header"
npy in_bad.npy 'f' False '(3, 2)' ''
key_refuses "dtype without size" "has the unknown dtype 'f'"
npy in_bad.npy '<f4' False "$(printf '(%060d)' 0 | sed 's/0/1, /g' | head -c 90))" ''
key_refuses "too many axes" "has"
printf '\223NUMPY\001\000\050\000%-39s\n' "{'descr': '<f4', 'shape': (3, 2)}" >in_bad.npy
key_refuses "no order at all" "has a garbled header"
printf '\223NUMPY\001\000\166\000%-117s\n' \
    "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,)}" >in_bad.npy
key_refuses "structured dtype" "has a structured dtype"

# ---- options --------------------------------------------------------------------------------------------------------

refuses "run --arithmetic fast" 1 "is not supported yet by attend" run $files --arithmetic fast
refuses "unknown dtype" 2 "--dtype is 'f8'; it must be f32, bf16 or f16" run $files --dtype f8
refuses "bfloat16 without a file type" 2 "--dtype bf16 needs --bf16" run $files --dtype bf16
refuses "unknown causal word" 2 "--causal is 'left'; it must be top-left or bottom-right" run $files --causal left
for window in 1 1, ,1 1,0,0 -2,0 0,-2 1,x 0x1,0 " 1,0" 99999999999999999999,0 ""; do
    attend run $files --window "$window"
    wanted=2 words="--window is '$window'; it must be two whole numbers as in 255,0, each at least 0, or -1"
    check "--window '$window' is refused" refused
done
refuses "contradicting diagonals" 2 "--diagonal contradicts" run $files --causal top-left --diagonal bottom-right
refuses "scale that is no number" 2 "--scale is '1x'; it must be a finite number" run $files --scale 1x
refuses "infinite scale" 2 "--scale is 'inf'" run $files --scale inf
for number in 0 -1 inf 1x ""; do
    attend run $files --softcap "$number"
    wanted=2 words="--softcap is '$number'; it must be a finite number above 0"
    check "--softcap '$number' is refused" refused
done
refuses "no time at all" 2 "--deadline is '0'; it must be a finite number above 0" run $files --deadline 0
refuses "a deadline that has passed" 1 "the run is not done within --deadline of 1e-12 s" run $files --deadline 1e-12
refuses "a tail of nothing" 2 "--visible-tail is '0'; it must be a whole number of at least 1" run $files --visible-tail 0
refuses "a tail without visible" 2 "--visible-tail needs --visible" run $files --visible-tail 2
refuses "slopes twice" 2 "--alibi contradicts --alibi-slopes" run $files --alibi --alibi-slopes in_slope.npy
for option in query-starts query-lengths; do
    refuses "packed queries with --$option" 2 "--$option contradicts --query-offsets: packed items have no padding" run $files \
        --query-offsets in_rows.npy --$option in_start.npy
done
for option in key-starts key-lengths; do
    refuses "packed keys with --$option" 2 "--$option contradicts --key-offsets: packed items have no padding" run $files \
        --key-offsets in_keys.npy --$option in_start.npy
done
refuses "no threads" 2 "--threads is '0'; it must be a whole number from 1 to 4096" run $files --threads 0
refuses "fractional threads" 2 "--threads is '1.5'" run $files --threads 1.5
refuses "unknown instruction set" 2 "--isa is 'sse'" run $files --isa sse
refuses "unknown binding" 2 "--bind is 'maybe'; it must be auto, cores or off" run $files --bind maybe
refuses "garbled list of CPUs" 2 "--cpus is '0-'; it must list numbers of CPUs" run $files --cpus 0-
refuses "a CPU that does not exist" 1 "attend run: --cpus[0] is 99999; " run $files --cpus 99999
refuses "one file for two outputs" 1 "--lse o.npy is also the file of --output" run $files --lse o.npy
cp in_q.npy in_before.npy
ln -s in_q.npy in_link.npy
ln in_q.npy in_hard.npy
for output in in_q.npy ./in_q.npy in_link.npy in_hard.npy; do
    refuses "output over an input, $output" 1 "--output $output is also the file of --query" run $tensors \
        --output $output
done
refuses "output over a broadcast mask" 1 "--lse in_row.npy is also the file of --visible" run $files \
    --visible in_row.npy --lse in_row.npy
refuses "weights over lengths" 1 "--weights in_end.npy is also the file of --key-lengths" run $files \
    --key-lengths in_end.npy --weights in_end.npy
refuses "key sums over a bias" 1 "--key-sums in_push.npy is also the file of --bias" run $files --bias in_push.npy \
    --key-sums in_push.npy
check "inputs stay as they were" cmp -s in_q.npy in_before.npy
refuses "output into a missing folder" 1 "--output none/o.npy cannot be written: No such file" \
    run $tensors --output none/o.npy
refuses "output that is a folder" 1 "--output . cannot be written: Is a directory" run $tensors --output .
refuses "second output into a missing folder" 1 "--lse none/l.npy cannot be written" run $files --lse none/l.npy
if test -w /dev/full; then
    refuses "full disk" 1 "--output /dev/full cannot be written: No space left" run $tensors --output /dev/full
    "$ATTEND" info >/dev/full 2>stderr
    status=$?
    : >stdout
    wanted=1 words="cannot write to standard output: No space left"
    check "full disk for standard output" refused
fi

# ---- bench and info -------------------------------------------------------------------------------------------------

refuses "bench with a garbled problem" 2 "size 'x9' is not known" bench b1.x9
refuses "bench with too few sizes" 2 "size q is missing" bench b1.h1.k4.d8
refuses "bench with heads that do not divide" 2 "h (3) must be a multiple of g" bench b1.h3.g2.q4.k4.d8
refuses "bench with an unknown option" 2 "option 'walk' is not known" bench b1.h1.q4.k4.d8:walk
refuses "bench with bad lengths" 2 "option 'lengths=3..9': lengths=A..B needs whole numbers with A <= B <= k" \
    bench b1.h1.q4.k4.d8:lengths=3..9
refuses "bench with an option twice" 2 "repeats or contradicts" bench b1.h1.q4.k4.d8:causal:causal-top-left
refuses "bench with an option of a later release" 1 "not supported yet by attend 0.1.0: fast" \
    bench b1.h1.q4.k4.d8:fast
for type in f32 bf32 ""; do
    refuses "bench with keys of type '$type'" 2 "option 'kv=$type': kv= needs bf16 or f16" bench b1.h1.q4.k4.d8:kv=$type
done
refuses "bench with two types" 2 "repeats or contradicts" bench b1.h1.q4.k4.d8:bf16:f16
refuses "bench with a bad window" 2 "option 'window=3,-2': window=L,R needs two whole numbers" bench b1.h1.q4.k4.d8:window=3,-2
for axes in qh bb x ""; do
    refuses "bench with the axes '$axes'" 2 "option 'bias=$axes': bias=AXES needs letters of b, h and q, in this order" \
        bench b1.h1.q4.k4.d8:bias=$axes
done
refuses "bench with two kinds of visibility" 2 "option 'bits=q' repeats or contradicts" bench b1.h1.q4.k4.d8:visible:bits=q
refuses "bench with nothing that is full" 2 "option 'full' needs bias, visible or bits" bench b1.h1.q4.k4.d8:full
refuses "bench with packed padding" 2 "option 'left' contradicts 'packed'" bench b1.h1.q4.k4.d8:lengths=1..4:left:packed
refuses "bench with packed items that have a bias each" 2 "option 'packed' excludes the axis b" \
    bench b1.h1.q4.k4.d8:packed:bias=bq
refuses "bench with two diagonals" 2 "option 'position' contradicts 'causal-top-left'" \
    bench b1.h1.q4.k4.d8:causal-top-left:position=1
for option in softcap=0 softcap=inf scale=x position=-1 prefix= alibi=1 keysums=0; do
    refuses "bench with $option" 2 "option '$option': ${option%%=*}" bench b1.h1.q4.k4.d8:$option
done
refuses "bench with width 0" 2 "size 'd0': d must be at least 1" bench b1.h1.q4.k4.d0.v8
refuses "bench with an empty problem" 2 "the problem is empty" bench ""
attend bench b1.h1.q4.k4.d8 --cpus 99999
# A busy machine is told before.
check "bench with a CPU that does not exist" grep -q -F "attend bench: --cpus[0] is 99999; " stderr
refuses "bench with no threads" 2 "--threads is '0'" bench b1.h1.q4.k4.d8 --threads 0
refuses "bench with no repeats" 2 "--repeat is '0'" bench b1.h1.q4.k4.d8 --repeat 0
attend info
check "info" says "instruction sets"
attend info --json
check "info --json" says '"isas": ['

# ---- NumPy ----------------------------------------------------------------------------------------------------------

if python3 -c 'import numpy' 2>/dev/null; then
    cat >in_numpy.py <<'END'
import sys
import numpy as np
kind = sys.argv[1]
random = np.random.default_rng(5)
lengths = np.array([3, 11, 20])
starts = 20 - lengths
if kind == "make":
    for name, heads, width in ("query", 4, 16), ("key", 2, 16), ("value", 2, 8):
        x = random.standard_normal((3, heads, 20, width)).astype(np.float32)
        for item in range(3):
            x[item, :, :starts[item]] = np.nan
        np.save("in_np_" + name, x)
    np.save("in_np_lengths", lengths)
    np.save("in_np_starts", starts.astype(np.int32))
else:
    query, key, value = (np.load("in_np_%s.npy" % n).astype(float) for n in ("query", "key", "value"))
    context, lse = np.load("o.npy"), np.load("l.npy")
    assert context.shape == (3, 4, 20, 8) and lse.shape == (3, 4, 20) and context.dtype == lse.dtype == np.float32
    for b in range(3):
        assert (context[b, :, :starts[b]] == 0).all() and (lse[b, :, :starts[b]] == -np.inf).all()
        real = slice(starts[b], 20)
        for h in range(4):
            s = query[b, h, real] @ key[b, h // 2, real].T / 4
            s[np.triu_indices(lengths[b], 1)] = -np.inf
            p = np.exp(s - s.max(1, keepdims=True))
            assert np.abs(p @ value[b, h // 2, real] / p.sum(1, keepdims=True) - context[b, h, real]).max() < 1e-5
            assert np.abs(s.max(1) + np.log(p.sum(1)) - lse[b, h, real]).max() < 1e-5
END
    python3 in_numpy.py make
    attend run --query in_np_query.npy --key in_np_key.npy --value in_np_value.npy --output o.npy --lse l.npy --quiet \
        --key-starts in_np_starts.npy --key-lengths in_np_lengths.npy --query-starts in_np_starts.npy \
        --query-lengths in_np_lengths.npy --causal bottom-right
    check "NumPy agrees: left padding of NaN, causal, grouped heads" python3 in_numpy.py check
    rm -f o.npy l.npy
    cat >in_types.py <<'END'
import subprocess, sys
import numpy as np

names = "query", "key", "value"

def bf16(x):
    bits = x.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)

def widen(x):
    return (x.astype(np.uint32) << 16).view(np.float32) if x.dtype == np.uint16 else x.astype(np.float32)

def run(files, *options):
    arguments = sum((["--" + n, f] for n, f in zip(names, files)), [])
    done = subprocess.run(sys.argv[1:] + ["run"] + arguments + ["--output", "o.npy"] + list(options), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return np.load("o.npy"), done.stderr

random = np.random.default_rng(7)
numbers = [random.standard_normal((2, 3, n, 24)) for n in (9, 70, 70)]
halves = {"<f2": lambda x: x.astype(np.float32).astype(np.float16), "<u2": lambda x: bf16(x.astype(np.float32))}
for descr, half in halves.items():
    own = ["--bf16"] if descr == "<u2" else []
    word = "bf16" if own else "f16"
    for name, x in zip(names, numbers):
        np.save("in_half_" + name, half(x))
        np.save("in_wide_" + name, widen(half(x)))
        np.save("in_float_" + name, x.astype(np.float32))
        np.save("in_double_" + name, x)
    as_half, as_wide, as_float, as_double = ([f"in_{kind}_{n}.npy" for n in names] for kind in ("half", "wide", "float", "double"))
    truth, _ = run(as_wide, "--quiet")
    assert truth.dtype == np.float32
    found, said = run(as_half, *own)
    assert found.dtype == np.dtype(descr) and (found == half(truth)).all() and "rounded" not in said
    found, said = run(as_half, *own, "--dtype", "f32")
    assert found.dtype == np.float32 and (found == truth).all() and "rounded" not in said
    found, said = run(as_float, "--dtype", word, *own)
    assert found.dtype == np.dtype(descr) and (found == half(truth)).all() and said.count("float32, rounded to") == 3
    found, said = run(as_wide[:1] + as_half[1:], *own, "--quiet")
    assert found.dtype == np.float32 and (found == truth).all()
    found, said = run(as_double, "--dtype", word, *own)
    assert found.dtype == np.dtype(descr) and said.count("float64, rounded to") == 3
# 1 + 2^-11 + 2^-40 lies above the middle of two neighbours in float16, where float32 would put it on the middle.
np.save("in_half_value", np.full((1, 2), 1 + 2.0 ** -11 + 2.0 ** -40))
np.save("in_half_key", np.zeros((1, 2), np.float16))
found, _ = run(["in_half_key.npy", "in_half_key.npy", "in_half_value.npy"], "--dtype", "f16")
assert (found == np.float16(1 + 2.0 ** -10)).all()
END
    check "NumPy agrees: float16 and bfloat16 files, and --dtype" python3 in_types.py "$ATTEND"
    rm -f o.npy
else
    echo "# skipped: no python3 with NumPy"
fi

finish
