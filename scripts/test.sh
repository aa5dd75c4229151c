#!/usr/bin/env bash
# All checks and all suites; prints the time each took and fails if any failed.
set -uo pipefail
cd "$(dirname "$0")/.."
report=()
status=0

suite() {
    local name=$1 began=$SECONDS
    shift
    echo "=== $name"
    if "$@"; then report+=("$(printf 'ok    %-10s %4ds' "$name" $((SECONDS - began)))"); else
        report+=("$(printf 'FAIL  %-10s %4ds' "$name" $((SECONDS - began)))")
        status=1
    fi
}

run_pytest() { .venv/bin/python -m pytest -q -n "${JOBS:-3}" --dist loadfile "$@"; }

bash scripts/packages.sh || exit 1
bash scripts/test_servers.sh || exit 1
suite page bash scripts/web.sh
suite checks bash scripts/check.sh
suite unit run_pytest tests/unit
suite flow run_pytest tests/flow tests/wire tests/contract
suite sdk run_pytest tests/sdk
suite fault run_pytest tests/fault
suite security run_pytest tests/security
suite server run_pytest tests/server
suite web npm --prefix web run --silent test
# Any worker takes what is left: files of these tests differ much in length.
suite browser run_pytest --dist worksteal tests/browser
printf '%s\n' "" "suites:" "${report[@]}"
exit $status
