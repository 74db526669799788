# What the shell suites share; sourced by them, after they have set $suite. $ATTEND names the command (./attend unless set),
# $TEST_SRCDIR the top of the sources. The suite then runs in a folder of its own, which is removed at its end.

ATTEND=${ATTEND:-./attend}
case $ATTEND in /*) ;; *) ATTEND=$PWD/$ATTEND ;; esac
top=$(cd "${TEST_SRCDIR:-.}" && pwd) || exit 1
folder=$(mktemp -d "${TMPDIR:-/tmp}/attend-$suite.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM
cd "$folder" || exit 1
passed=0 failed=0
: >stdout >stderr

# check NAME COMMAND...: passes when the command succeeds.
check()
{
    name=$1
    shift
    if "$@"; then
        passed=$((passed + 1))
        echo "ok - $name"
    else
        failed=$((failed + 1))
        echo "not ok - $name"
        sed 's/^/#   /' stdout stderr
    fi
}

# attend ARGUMENT...: runs the command; leaves $status, and the files stdout and stderr.
attend()
{
    "$ATTEND" "$@" >stdout 2>stderr
    status=$?
}

# pseudo_terminal: can `script` open one? If not, says so.
pseudo_terminal()
{
    script -q -e -c true /dev/null </dev/null >/dev/null 2>&1 && return
    if command -v script >/dev/null 2>&1; then
        echo "# skipped: script cannot open a pseudo terminal"
    else
        echo "# skipped: there is no script command to open a pseudo terminal"
    fi
    return 1
}

# The closing count, and the suite's status.
finish()
{
    echo "$passed passed, $failed failed"
    test $failed -eq 0
}
