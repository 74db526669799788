#!/bin/sh
# Checks `attend show` from outside: the numbers of each table by step, token and column, every refusal of a table,
# shading in a terminal and nowhere else, the picture, and files that must not appear. $ATTEND names the command
# (./attend unless set), $TEST_SRCDIR the top of the sources. Prints one line per check and a closing count; fails when
# any check failed.

suite=show
. "${TEST_SRCDIR:-.}/tests/shell_checks.sh"
fixtures=$top/tests/fixtures
ticket=$fixtures/support_ticket_vectors.csv worked=$fixtures/worked_example_vectors.csv
escape=$(printf '\033')
unset NO_COLOR

# show ARGUMENT...: runs the command; leaves $status, and the files stdout and stderr.
show()
{
    "$ATTEND" show "$@" >stdout 2>stderr </dev/null
    status=$?
}

# table STEP: the lines of that step's table, its headings first.
table()
{
    awk -v head="$1:" 'index($0, head) == 1 { inside = 1; next } /^$/ { inside = 0 } inside' stdout
}

# row STEP TOKEN: the numbers of the token's row. Tokens have no spaces.
row()
{
    table "$1" | awk -v token="$2" 'NR > 1 && $1 == token { $1 = ""; print substr($0, 2) }'
}

# headings STEP: of its columns.
headings()
{
    table "$1" | awk 'NR == 1 { $1 = $1; print }'
}

done_quietly()
{
    test $status -eq 0 && test ! -s stderr
}

# expect NAME STEP TOKEN NUMBERS: that row of the last run.
expect()
{
    wanted=$4 found=$(row "$2" "$3")
    check "$1, $2, $3" is_found
}

is_found()
{
    done_quietly && test "$found" = "$wanted" && return
    echo "#   should be '$wanted', is '$found'"
    return 1
}

# finds NAME WANTED FOUND: for what is no row.
finds()
{
    wanted=$2 found=$3
    check "$1" is_found
}

# refuses NAME STATUS WORDS ARGUMENT...: the status, a first line with the words, nothing printed, no file left.
refuses()
{
    what=$1 wanted=$2 words=$3
    shift 3
    show "$@"
    check "$what" refused
    ls | grep -v -e '^in' -e '^std' | xargs rm -rf
}

refused()
{
    # Wrong usage adds one line, the hint to --help.
    test $status -eq $wanted && test ! -s stdout && test $(($(wc -l <stderr))) -eq $wanted &&
        grep -q -F -e "$words" stderr && test -z "$(ls | grep -v -e '^in' -e '^std')"
}

# ---- the lessons' numbers -------------------------------------------------------------------------------------------

show "$ticket"
tokens="refund for damaged parcel <pad>"
for step in match scale mask; do
    finds "ticket, headings of $step" "$tokens" "$(headings $step)"
done
finds "ticket, headings of normalise" "$tokens sum" "$(headings normalise)"
finds "ticket, headings of collect" "v_refund v_priority" "$(headings collect)"
finds "ticket, a row per token" "$(echo $tokens | tr ' ' '\n')" "$(table normalise | awk 'NR > 1 { print $1 }')"
expect ticket match refund "1.020 0.000 1.000 0.240 0.000"
expect ticket match damaged "0.800 0.000 1.580 0.540 0.000"
expect ticket scale refund "0.589 0.000 0.577 0.139 0.000"
expect ticket scale parcel "0.185 0.000 0.312 0.635 0.000"
expect ticket mask refund "0.589 0.000 0.577 0.139 -inf"
expect ticket mask "<pad>" "0.000 0.000 0.000 0.000 -inf"
expect ticket normalise refund "0.314 0.174 0.311 0.200 0.000 1.000"
expect ticket normalise damaged "0.246 0.155 0.386 0.212 0.000 1.000"
expect ticket normalise "<pad>" "0.250 0.250 0.250 0.250 0.000 1.000"
expect ticket collect refund "0.572 0.454"
finds "ticket, largest weight" "largest weight 0.386: damaged attends to damaged" "$(tail -n 1 stdout)"
finds "ticket, every line of a table is as long as its headings" "1 1 1 1 1" \
    "$(echo $(for step in match scale mask normalise collect; do
        table $step | awk '{ print length($0) }' | sort -u | wc -l
    done))"

sed -n '/^support_ticket_vectors.csv:/,/^```$/p' "${fixtures%/tests/fixtures}/README.md" | sed '$d' >in_readme
check "the README prints the same" cmp -s stdout in_readme

show "$ticket" --no-padding-mask
expect "ticket without padding mask" mask refund "0.589 0.000 0.577 0.139 0.000"
expect "ticket without padding mask" normalise damaged "0.213 0.134 0.335 0.184 0.134 1.000"
finds "ticket without padding mask, largest weight" "largest weight 0.335: damaged attends to damaged" \
    "$(tail -n 1 stdout)"
show --scale 1 --no-padding-mask "$ticket"
finds "ticket without scale, largest weight" "largest weight 0.450: damaged attends to damaged" "$(tail -n 1 stdout)"
expect "ticket without scale" scale refund "1.020 0.000 1.000 0.240 0.000"
show "$ticket" --scale 0
expect "scale 0" scale damaged "0.000 0.000 0.000 0.000 0.000"
expect "scale 0" match damaged "0.800 0.000 1.580 0.540 0.000"
show "$ticket" --scale=-2 --digits 1
expect "negative scale" scale damaged "-1.6 0.0 -3.2 -1.1 0.0"

show "$worked" --digits 4
expect "worked example" normalise the "0.3385 0.2865 0.1560 0.2190 1.0000"
expect "worked example" normalise cat "0.2617 0.3769 0.0806 0.2808 1.0000"
expect "worked example" normalise sat "0.1458 0.2187 0.1915 0.4441 1.0000"
expect "worked example" normalise there "0.3683 0.2974 0.2646 0.0697 1.0000"
expect "worked example" collect the "-1.5223 -0.9709 0.1333"
expect "worked example" collect cat "-1.8853 -0.8206 0.1676"
expect "worked example" collect sat "-1.7339 -0.7920 0.4547"
expect "worked example" collect there "-1.1056 -1.0340 0.0768"
finds "worked example, nothing hidden" "hidden: nothing" "$(grep -o 'hidden: .*' stdout)"
cp stdout in_default
for isa in $("$ATTEND" info | sed -n 's/ (used)//; s/^instruction sets *//p'); do
    show "$worked" --digits 4 --isa $isa
    check "worked example, $isa gives the same" cmp -s stdout in_default
done
show "$worked" --digits 0
expect "no digits" collect there "-1 -1 0"
show "$worked" --digits 9
finds "nine digits" "9" "$(row normalise sat | awk '{ split($1, parts, "."); print length(parts[2]) }')"

for word in top-left bottom-right; do
    show "$ticket" --causal $word
    expect "causal $word" mask refund "0.589 -inf -inf -inf -inf"
    expect "causal $word" mask damaged "0.462 0.000 0.912 -inf -inf"
    expect "causal $word" normalise refund "1.000 0.000 0.000 0.000 0.000 1.000"
    expect "causal $word" normalise for "0.500 0.500 0.000 0.000 0.000 1.000"
    expect "causal $word" normalise "<pad>" "0.250 0.250 0.250 0.250 0.000 1.000"
done

# ---- tables of every kind -------------------------------------------------------------------------------------------

# csv TEXT: writes in.csv; TEXT is a printf format.
csv()
{
    printf "$1" >in.csv
}

csv 'token,q_0,k_0,v_0\n<pad>,1,1,9\na,1,1,3\n<pad>,1,1,9\nb,1,1,5\n'
show in.csv
expect "padding anywhere" normalise a "0.000 0.500 0.000 0.500 1.000"
expect "padding anywhere" collect b "4.000"
show in.csv --causal bottom-right
finds "a row that sees no key" "0.000 0.000 0.000 0.000 0.000" "$(row normalise '<pad>' | head -n 1)"
finds "a row that sees no key is told" "1" "$(grep -c 'to 0 where no key is visible' stdout)"
csv 'token,q_0,k_0,v_0\n<pad>,1,1,9\n'
show in.csv
expect "padding only" normalise "<pad>" "0.000 0.000"
finds "padding only, no weight" "there is no weight above 0" "$(tail -n 1 stdout)"
csv 'token,q_0,k_0,v_0\nalone,1,1,9\n'
show in.csv
expect "one token" normalise alone "1.000 1.000"
csv 'v_x,q_a,k_b,token,v_w,k_a,q_b\n1,10,1,T,7,2,5\n'
show in.csv
expect "columns in any order, queries and keys meet by name" match T "25.000"
expect "columns in any order" collect T "1.000 7.000"
finds "columns in any order, headings" "v_x v_w" "$(headings collect)"
csv 'token,q_a,q_b,k_x,k_y,v_0\nT,10,5,1,2,0\n'
show in.csv
expect "names that differ meet in order" match T "20.000"
csv '\357\273\277token,q_0,k_0,v_0\r\n\r\nCR,1,-0,3e0\r\nLF,+.5,2.,-0.0001\n  bare  , 1 ,2,3'
show in.csv
expect "byte order mark, CRLF, empty line, no end" match bare "0.000 2.000 2.000"
expect "signs, points and exponents" match LF "0.000 1.000 1.000"
finds "no minus before a zero" "" "$(grep -e '-0\.000' stdout)"
csv 'token,q_0,k_0,v_0\rA,1,2,3\rB,1,5,3\r'
show in.csv
expect "CR alone ends lines" match B "2.000 5.000"
csv 'token,q_0,k_0,v_0\n"say ""a, b""\nc",1,2,3\n\033[31mred,1,2,3\n'
show in.csv
finds "commas, quotes and newlines in a token" 'say "a, b"\nc          2.000          2.000' \
    "$(table match | sed -n 2p)"
finds "control characters are spelled out" "" "$(grep "$escape" stdout)"
csv 'token,q_0,k_0,v_0\n\346\227\245\346\234\254,1,2,3\n\303\251,1,2,3\n'
show in.csv
wide=$(printf '\346\227\245\346\234\254') narrow=$(printf '\303\251')
if test "$(LC_ALL=C.UTF-8 locale charmap 2>/dev/null)" = UTF-8; then
    finds "width of UTF-8" "$(printf '%s  2.000  2.000\n%s     2.000  2.000' "$wide" "$narrow")" \
        "$(table match | sed 1d)"
else
    echo "# skipped: no UTF-8 locale to measure wide characters with"
fi
printf 'token,q_0,k_0,v_0\n%05000d,1,2,3\n' 0 >in.csv
show in.csv
check "a huge token is cut" test "$(table match | wc -c)" -lt 200
"$ATTEND" show - <"$ticket" >stdout 2>stderr
status=$?
expect "standard input" normalise refund "0.314 0.174 0.311 0.200 0.000 1.000"

# ---- tables that are refused ----------------------------------------------------------------------------------------

# bad NAME WORDS TEXT: that table.
bad()
{
    csv "$3"
    refuses "$1" 1 "attend show: in.csv$2" in.csv --heatmap o.svg
}

head='token,q_a,k_urgency,v_x\n'
bad "not a number" ":3: column k_urgency: 'abc' is not a number" "${head}a,1,2,3\nb,1,abc,3\n"
bad "number with a tail" ":2: column k_urgency: '1x' is not a number" "${head}a,1,1x,3\n"
bad "no number" ":2: column q_a: '' is not a number" "${head}a,,2,3\n"
bad "NaN" ":2: column k_urgency: 'nan' is not a finite number" "${head}a,1,nan,3\n"
bad "infinity" ":2: column v_x: '-Infinity' is not a finite number" "${head}a,1,2,-Infinity\n"
bad "hexadecimal" ":2: column q_a: '0x10' is not a decimal number" "${head}a,0x10,2,3\n"
bad "beyond float32" ":2: column q_a: '1e50' is beyond float32" "${head}a,1e50,2,3\n"
bad "line behind a token of two lines" ":4: column k_urgency: 'x'" "${head}\"a\nb\",1,2,3\nc,1,x,3\n"
bad "line with CRLF and empty lines" ":4: column k_urgency: 'x'" \
    'token,q_a,k_urgency,v_x\r\na,1,2,3\r\n\r\nb,1,x,3\r\n'
bad "too few fields" ":2: 3 fields, but the header has 4" "${head}a,1,2\n"
bad "too many fields" ":3: 5 fields, but the header has 4; a token that has commas" "${head}a,1,2,3\nb, c,1,2,3\n"
bad "other columns" ":1: columns 'foo', '\"\"', 'Token' are none of token, q_*, k_*, v_*" \
    'token,q_a,k_a,foo,v_a,,Token\na,1,2,3,4,5,6\n'
bad "other separator" ":1: column 'token;q_a;k_a;v_x' is none of" 'token;q_a;k_a;v_x\na;1;2;3\n'
bad "no token column" ":1: there is no column token;" 'q_a,k_a,v_x\n1,2,3\n'
bad "no queries" ":1: there is no column q_*" 'token,k_a,v_x\na,2,3\n'
bad "no keys" ":1: there is no column k_*" 'token,q_a,v_x\na,2,3\n'
bad "no values" ":1: there is no column v_*" 'token,q_a,k_a\na,2,3\n'
bad "a column twice" ":1: column q_a is there twice" 'token,q_a,k_a,v_x,q_a\na,1,2,3,4\n'
bad "two token columns" ":1: column token is there twice" 'token,q_a,k_a,v_x,token\na,1,2,3,b\n'
bad "counts differ" ":1: the columns q_* are 2 and the columns k_* 1" 'token,q_a,q_b,k_a,v_x\na,1,2,3,4\n'
bad "names half agree, places do not" ":1: column k_b stands at another place" \
    'token,q_a,q_b,k_b,k_c,v_x\na,1,2,3,4,5\n'
bad "empty file" " is empty" ''
bad "empty lines only" " is empty" '\n\n\n'
bad "header only" " has column names but no tokens" "$head"
bad "Latin-1" ":2: is not text in UTF-8" "${head}caf\351,1,2,3\n"
bad "NUL" ":1: is not text in UTF-8" 't\000o\000k\000e\000n\000'
bad "quote inside a field" ":2: a quote stands inside a field" "${head}a\"b,1,2,3\n"
bad "quote without end" ":3: a quoted field that begins in this row is never closed" \
    "${head}a,1,2,3\n\"b,1,2,3\nc,1,2,3\n"
printf '%b\na,%01000000d,x\n' 'token,q_a,k_a,v_x' 7 >in.csv
refuses "huge field" 1 "in.csv:2: 3 fields" in.csv
printf 'token,q_a,k_a,v_x\na,1,x%01000000d,3\n' 7 >in.csv
refuses "huge number" 1 "in.csv:2: column k_a: 'x0000000000" in.csv
check "a huge field makes no huge message" test $(wc -c <stderr) -lt 200
head -c 17000000 /dev/zero | tr '\0' x >in.csv
refuses "huge file" 1 "in.csv is longer than 16 MiB" in.csv
awk 'BEGIN { print "token,q_a,k_a,v_x"; for (i = 0; i < 1001; i++) print i ",1,2,3" }' >in.csv
refuses "too many tokens" 1 "in.csv:1002: more than 1000 tokens" in.csv
refuses "missing file" 1 "none.csv cannot be opened: No such file" none.csv
refuses "folder" 1 ". cannot be read: Is a directory" .
refuses "nothing on standard input" 1 "standard input is empty" -

# ---- options --------------------------------------------------------------------------------------------------------

show --help
check "--help has an example" grep -q "^  attend show ticket.csv" stdout
finds "--help prints to standard output" "Usage: attend show TABLE.csv [OPTION]..." "$(head -n 1 stdout)"
"$ATTEND" --help >stdout 2>stderr
check "attend --help lists show" grep -q "^  show  " stdout
refuses "no table" 2 "a table is missing"
refuses "two tables" 2 "'b.csv' is one table too many" "$ticket" b.csv
refuses "unknown option" 2 "there is no option --walk" "$ticket" --walk
refuses "option without value" 2 "--digits needs a value" "$ticket" --digits
refuses "value for a flag" 2 "--no-padding-mask=1 takes no value" "$ticket" --no-padding-mask=1
refuses "too many digits" 2 "--digits is '10'; it must be a whole number from 0 to 9" "$ticket" --digits 10
refuses "digits that are no number" 2 "--digits is '-1'" "$ticket" --digits -1
refuses "scale that is no number" 2 "--scale is 'big'; it must be a finite number" "$ticket" --scale big
refuses "infinite scale" 2 "--scale is 'inf'" "$ticket" --scale inf
refuses "unknown causal word" 2 "--causal is 'left'; it must be top-left or bottom-right" "$ticket" --causal left
refuses "unknown instruction set" 2 "--isa is 'sse'" "$ticket" --isa sse

# ---- colours --------------------------------------------------------------------------------------------------------

TERM=xterm-256color show "$ticket"
finds "no colours into a file" "" "$(grep "$escape" stdout)"

# terminal SETTING...: runs the ticket on a pseudo terminal of 120 columns, or $columns, with these settings.
terminal()
{
    script -qec "stty cols ${columns:-120}; env $* '$ATTEND' show '$ticket'" /dev/null </dev/null >stdout 2>stderr
    status=$?
    tr -d '\r' <stdout >in_plain
    cp in_plain stdout
}

if pseudo_terminal; then
    terminal TERM=xterm-256color
    finds "shades: one per weight that is visible" "20" "$(grep -o "$escape\[48;5;" stdout | wc -l | tr -d ' ')"
    finds "shades: only in the weights" "20" "$(table normalise | grep -o "$escape\[48;5;" | wc -l | tr -d ' ')"
    finds "the largest weight is the darkest, with white text" "damaged:0.386" \
        "$(table normalise | sed -n "s/^\([a-z]*\).*$escape\[48;5;17;38;5;231m *\([0-9.]*\)$escape.*/\1:\2/p")"
    finds "a hidden key is not shaded" "5" "$(table normalise | grep -c "$escape\[0m *0\.000 *1\.000\$")"
    sed "s/$escape\[[0-9;]*m//g" stdout >in_plain
    show "$ticket"
    check "without its colours the text is the same" cmp -s in_plain stdout
    terminal TERM=xterm-256color NO_COLOR=1
    finds "NO_COLOR" "0" "$(grep -c "$escape" stdout)"
    terminal TERM=xterm-256color NO_COLOR=
    finds "an empty NO_COLOR asks for nothing" "20" "$(grep -o "$escape\[48;5;" stdout | wc -l | tr -d ' ')"
    terminal TERM=dumb
    finds "a dumb terminal" "0" "$(grep -c "$escape" stdout)"
    columns=30 terminal TERM=dumb
    finds "a narrow terminal breaks tables into blocks" "" "$(awk 'length($0) > 30 && /^ *[a-z<]*>? +[-0-9]/' stdout)"
    expect "a narrow terminal" normalise refund "0.314 0.174"
    unset columns
fi

# ---- the picture ----------------------------------------------------------------------------------------------------

# cells: the numbers of the picture's cells, in order.
cells()
{
    echo $(sed -n 's/^<rect .*\/><text .*>\([-0-9.a-z]*\)<\/text>$/\1/p' o.svg)
}

well_formed()
{
    if command -v xmllint >/dev/null 2>&1; then
        xmllint --noout o.svg
    else
        python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' o.svg
    fi
}

show "$ticket" --heatmap o.svg
finds "the picture's numbers are the weights, row by row" \
    "$(echo $(for token in refund for damaged parcel '<pad>'; do row normalise $token; done | sed 's/ [^ ]*$//'))" \
    "$(cells)"
finds "hidden keys are hatched" "5" "$(grep -c '^<rect .*url(#attend-hidden).*>0\.000</text>$' o.svg)"
finds "the largest weight is the darkest, with white text" "0.386" \
    "$(sed -n 's/^<rect .* fill="#08306b"\/><text .*fill="#ffffff">\(.*\)<\/text>$/\1/p' o.svg)"
finds "every token names a row and a column" "2 2 2 2 2" \
    "$(echo $(for token in refund for damaged parcel '&lt;pad&gt;'; do grep -c ">$token</text>" o.svg; done))"
finds "title, axes and scale bar" "1 1 1 1" \
    "$(echo $(for text in 'Attention weights: support_ticket_vectors.csv' queries keys weight; do
        grep -c ">$text</text>" o.svg
    done))"
finds "only the picture appears" "o.svg" "$(echo $(ls | grep -v -e '^in' -e '^std'))"
show "$ticket" --heatmap o.svg --no-padding-mask --digits 2
finds "digits and mask show in the picture" "0.27 0.15 0.26 0.17 0.15 0 hatched" \
    "$(cells | cut -d ' ' -f 1-5) $(grep -c '^<rect .*attend-hidden.*text>$' o.svg) hatched"
if command -v xmllint >/dev/null 2>&1 || command -v python3 >/dev/null 2>&1; then
    check "well-formed" well_formed
    csv 'token,q_0,k_0,v_0\n"<a href=""x"">&\001\357\277\277]]>",1,2,3\n"\n",1,2,3\n<pad>,1,1,1\n,0,0,0\n'
    cp in.csv 'in<&>.csv'
    show 'in<&>.csv' --heatmap o.svg
    check "well-formed with markup and control characters in names" well_formed
else
    echo "# skipped: neither xmllint nor python3"
fi
cp o.svg in_before.svg
csv "${head}a,1,abc,3\n"
show in.csv --heatmap o.svg
check "a failed run leaves an old picture alone" cmp -s o.svg in_before.svg
rm -f o.svg
cp "$ticket" in.csv
cp in.csv in_before.csv
ln -sf in.csv in_link.csv
for picture in in.csv ./in.csv in_link.csv; do
    refuses "picture over the table, $picture" 1 "--heatmap $picture is also the file of the table" in.csv \
        --heatmap $picture
done
"$ATTEND" show - --heatmap in.csv <in.csv >stdout 2>stderr
check "picture over the table at standard input" grep -q -F "is also the file of the table" stderr
check "the table stays as it was" cmp -s in.csv in_before.csv
show "$ticket" --heatmap o.png
noted() { test $status -eq 0 && test "$(cat stderr)" = "attend show: $1"; }
check "picture of another name" noted "--heatmap o.png is SVG; its name does not end in .svg"
check "picture of another name is there" grep -q '<svg' o.png
rm -f o.png
refuses "picture in a missing folder" 1 "--heatmap none/o.svg cannot be written: No such file" \
    "$ticket" --heatmap none/o.svg
refuses "picture that is a folder" 1 "--heatmap . cannot be written: Is a directory" "$ticket" --heatmap .
if test -w /dev/full; then
    refuses "picture on a full disk" 1 "--heatmap /dev/full cannot be written: No space left" \
        "$ticket" --heatmap /dev/full
    "$ATTEND" show "$ticket" --heatmap o.svg >/dev/full 2>stderr
    status=$? wanted=1 words="cannot write to standard output: No space left"
    : >stdout
    check "no picture when the tables could not be printed" refused
fi

finish
