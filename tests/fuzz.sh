#!/bin/sh
# Random problems without end, or for SECONDS: all options in any combination, against the oracle within its bounds, against the bytes of
# the contract, with poison in everything hidden, and all instruction sets against each other. Stops at the first that is wrong and shows
# it with the seed that reruns it. SEED is where to begin: by the clock unless told. For `make fuzz`.

seconds=${SECONDS_OF_FUZZING:-0}
seed=${SEED:-$(date +%s)000000}
begin=$(date +%s)
log=$(mktemp "${TMPDIR:-/tmp}/attend-fuzz.XXXXXX") || exit 1
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM
count=200
round=0

# tries PROGRAM FILTER: one round of it.
tries()
{
    if ATTEND_TEST_SEED=$seed ATTEND_TEST_COUNT=$count "$1" --verbose --filter "$2" >"$log" 2>&1; then
        return 0
    fi
    cat "$log"
    echo "fuzz: $1 is wrong; problems began at seed $seed"
    exit 1
}

while :; do
    tries tests/oracle_test 'oracle/random_problems_*'
    tries tests/contract_test 'contract/*'
    tries tests/guard_test 'guard/*'
    tries tests/bits_test 'bits/instruction_sets_random'
    round=$((round + 1))
    passed=$(($(date +%s) - begin))
    echo "fuzz: $round rounds of $count problems for every test and set, $passed s, seeds up to $((seed + count)): all right"
    seed=$((seed + count))
    if test "$seconds" -gt 0 && test "$passed" -ge "$seconds"; then
        exit 0
    fi
done
