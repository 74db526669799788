#!/bin/sh
# Prints a golden file with the hashes that a build has now; everything else in the file stays. What it prints equals the
# file where the build keeps the promise.
#
#     golden_hashes.sh FILE COMMAND...
#
# COMMAND is the plain runner with the options that choose one instruction set, threads and calls, perhaps behind an
# emulator: golden_hashes.sh tests/golden.sha256 qemu-x86_64 -cpu Haswell tests/plain_runner --isa avx2

set -eu
golden=$1
shift
folder=$(mktemp -d "${TMPDIR:-/tmp}/attend-hashes.XXXXXX")
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' HUP INT TERM

# hashes SUFFIX: of the runner's files, a line each, in the order of the problems.
hashes()
{
    sha256sum "$folder"/*."$1" | cut -d ' ' -f 1 >"$folder/$1"
}

"$@" --file "$golden" --bytes "$folder" >"$folder/lines"
hashes output
hashes lse
awk -v outputs="$folder/output" -v lses="$folder/lse" '
    /^#/ || NF == 0 { print; next }
    {
        if ((getline output <outputs) <= 0 || (getline lse <lses) <= 0) exit 1
        printf "%-60s %s %s\n", $1, output, lse
    }' "$golden"
