#!/usr/bin/env bash
# Installs the system packages that only tests need, where it may; says what is missing where it may not.
set -uo pipefail
missing=()
command -v bwrap >/dev/null || missing+=(bubblewrap)
command -v git >/dev/null || missing+=(git)
command -v psql >/dev/null && [ -n "$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] || missing+=(postgresql)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing for the tests: ${missing[*]}"
    apt-get update -qq && apt-get install -y -qq "${missing[@]}" >/dev/null && exit 0
fi
echo "The tests need these system packages: ${missing[*]}. On Debian: sudo apt-get install ${missing[*]}" >&2
exit 1
