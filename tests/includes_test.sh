#!/bin/sh
# Dependencies point one way, as the includes tell:
#     api -> plan, threads, problem -> kernel -> base
# The public header knows nothing of the engine; command, tests of the whole library and benchmarks see the public
# header only; one file knows hwloc, one knows OpenMP.

cd "${TEST_SRCDIR:-.}" || exit 1
failed=0

complain()
{
    echo "$1"
    failed=1
}

# may FOLDER ALLOWED: files of engine/FOLDER include engine/ headers of these folders only.
may()
{
    found=$(grep -n '#include "engine/' engine/"$1"/* | grep -Ev "#include \"engine/($2)/")
    test -z "$found" || complain "engine/$1 may include $2 only:
$found"
}

may base 'base'
may kernel 'kernel|base'
may problem 'problem|kernel|base'
may plan 'plan|problem|kernel|base'
may threads 'threads|base'
may api 'api|plan|threads|problem|kernel|base'

# forbid WHAT PATTERN FILE...: no line of the files matches.
forbid()
{
    what=$1 pattern=$2
    shift 2
    found=$(grep -En "$pattern" "$@" /dev/null)
    test -z "$found" || complain "$what:
$found"
}

# only FILE HEADER: no other source includes it.
only()
{
    found=$(grep -rlE "#include <$2>" engine bench include | grep -v "^$1\$")
    test -z "$found" || complain "only $1 may include $2, but these do:
$found"
}

forbid 'the public header includes more than the C library' '#include "' include/attend/*.h
forbid 'the command sees internals' '#include "engine/(base|kernel|problem|plan|threads|api)/' engine/cli/*.[ch]
forbid 'benchmarks see internals' '#include "engine/' bench/*.[ch]
# The table of kernels is data: a test per set comes from it.
found=$(grep -n '#include "engine/' tests/oracle.[ch] tests/contract*.[ch] tests/help_*.[ch] tests/plain_*.[ch] |
    grep -v '"engine/kernel/kernels\.def"$')
test -z "$found" || complain "helpers see internals:
$found"
forbid 'the table of kernels is more than data' '#include|extern |typedef |struct ' engine/kernel/kernels.def
for suite in lessons oracle contract bits host cases sizes guard window merge append cache step halt arguments properties embedding explain; do
    forbid 'a suite of the whole library sees internals' '#include "engine/' tests/${suite}_test.c
done
forbid 'the library includes tests or benchmarks' '#include "(tests|bench)/' engine/base/*.[ch] \
    engine/kernel/*.[ch] engine/problem/*.[ch] engine/plan/*.[ch] engine/threads/*.[ch] engine/api/*.[ch]
only engine/threads/topology.c 'hwloc.*'
only engine/threads/team.c 'omp\.h'
only engine/cli/csv_rows.c 'csv\.h'

exit $failed
