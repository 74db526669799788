#!/bin/sh
# The manual page and the completion for bash follow the command: every long option that a command's --help prints has
# its place in both, and the completion offers no other. Also what the completion answers to some command lines; skipped
# without bash. $ATTEND names the command (./attend unless set).

suite=manual
. "${TEST_SRCDIR:-.}/tests/shell_checks.sh"
sources=$top/engine/cli

# The lines of the page about a command: its section, and that of the team.
page_of()
{
    sed -n "/^\.Sh $(echo "$1" | tr '[:lower:]' '[:upper:]')\$/,/^\.Sh/p; /^\.Sh TEAM/,/^\.Sh/p" "$sources/attend.1"
}

# complete_line LINE: what the completion offers at its end, a line each.
complete_line()
{
    bash -c '. "$1"; COMP_LINE=$2; COMP_POINT=${#2}; COMP_WORDBREAKS=$(printf " \t\n\"><=;|&(:"); _attend
        printf "%s\n" "${COMPREPLY[@]}"' - "$sources/attend.bash" "$1"
}

# offers LINE WORD...: exactly these, in this order.
offers()
{
    line=$1
    shift
    offered=$(complete_line "$line" | tr '\n' ' ')
    test "$offered" = "$* " || { echo "#   '$line' offers: $offered"; return 1; }
}

in_page() { page_of "$1" | grep -q -E -e "Fl -$(echo "$2" | cut -c3-)( |\$)"; }
in_completion() { complete_line "attend $1 --" | grep -q -x -e "$2"; }
in_help() { test "$2" = --help || grep -q -x -e "$2" "$folder/options"; }

have_bash=no
bash -c 'test "${BASH_VERSINFO[0]}" -ge 4' 2>/dev/null && have_bash=yes
test $have_bash = yes || echo "# skipped: the completion, there is no bash 4"

# ---- options --------------------------------------------------------------------------------------------------------

for command in run show info bench explain; do
    check "$command --help is there" sh -c '"$1" "$2" --help >"$3"' - "$ATTEND" $command "$folder/help"
    grep -o -E -e '--[a-z][a-z0-9-]*' "$folder/help" | sort -u >"$folder/options"
    check "$command --help prints options" test -s "$folder/options"
    check "$command --help has an example" grep -q "^  attend $command " "$folder/help"
    for option in $(cat "$folder/options"); do
        check "$command $option is in the manual page" in_page $command $option
        test $have_bash = no || check "$command $option is in the completion" in_completion $command $option
    done
    test $have_bash = no && continue
    for option in $(complete_line "attend $command --"); do
        check "$command $option of the completion exists" in_help $command $option
    done
done
for option in --help --version; do
    check "$option is in the manual page" grep -q "Fl -$(echo $option | cut -c3-)" "$sources/attend.1"
done

# ---- instruction sets -----------------------------------------------------------------------------------------------

for set in $(sed -n 's/^ *ROW(\([a-z0-9]*\),.*/\1/p' "$top/engine/kernel/kernels.def"); do
    for command in run show info bench explain; do
        check "$command --help names $set" sh -c '"$1" "$2" --help | grep -q -w -e "$3"' - "$ATTEND" $command $set
    done
    check "the manual page names $set" grep -q "^\.Cm $set\>" "$sources/attend.1"
    test $have_bash = no || check "the completion names $set" sh -c 'grep -e "--isa)" "$1" | grep -q -w -e "$2"' - \
        "$sources/attend.bash" $set
done

# ---- the manual page ------------------------------------------------------------------------------------------------

if groff -v >/dev/null 2>&1; then
    groff -ww -mandoc -Tascii "$sources/attend.1" >"$folder/page" 2>"$folder/complaints"
    check "groff formats the page without a word" test ! -s "$folder/complaints" -a -s "$folder/page"
else
    echo "# skipped: groff"
fi

# ---- answers of the completion --------------------------------------------------------------------------------------

if test $have_bash = yes; then
    check "commands" offers "attend " run show info bench explain --help --version
    check "a command begun" offers "attend e" explain
    check "an option begun" offers "attend run --key-" --key-sums --key-lengths --key-starts --key-offsets
    check "words of --causal" offers "attend run --causal " top-left bottom-right
    check "a word behind an equal sign" offers "attend run --causal=t" top-left
    check "words of --bind" offers "attend info --bind " auto cores off
    check "instruction sets" offers "attend explain --isa a" auto avx2 avx512
    check "options of info only" offers "attend info --" --threads --cpus --bind --isa --json --help
    check "a problem" offers "attend bench b8" b8.h12.q512.k512.d64
    check "options of a problem" offers "attend explain b1.h1.q1.k1.d1:ca" causal causal-top-left
    check "tensors of a problem" offers "attend bench b1.h1.q1.k1.d1:bi" bits bits= bias bias=
    check "a window of a problem" offers "attend explain b1.h1.q1.k1.d1:w" window=
    check "a further option of a problem" offers "attend bench b1.h1.q1.k1.d1:left:memory=h" huge
    check "no word for a number" offers "attend bench --repeat " ""
    cd "$folder" || exit 1
    case $sources in /*) ;; *) sources=$OLDPWD/$sources ;; esac
    mkdir files && : >files/query.npy
    check "files of a file option" offers "attend run --query files/q" files/query.npy
    check "files of show" offers "attend show files/" files/query.npy
fi

finish
