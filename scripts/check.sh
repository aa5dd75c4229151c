#!/usr/bin/env bash
# All static checks. Runs them all, then fails if any did.
#   check.sh --quick    only those that take seconds, pyright, and the tests of tests/unit and tests/flow
set -uo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
failed=()
declare -A logs processes

check() {
    local name=$1 began=$SECONDS
    shift
    if "$@"; then printf 'ok    %-14s %ds\n' "$name" $((SECONDS - began)); else
        printf 'FAIL  %-14s %ds\n' "$name" $((SECONDS - began))
        failed+=("$name")
    fi
}

# A check that takes long, and one core, runs beside the others: `start` it first, `finish` it last.
start() {
    logs[$1]=$(mktemp)
    "${@:2}" >"${logs[$1]}" 2>&1 &
    processes[$1]=$!
}

finish() {
    wait "${processes[$1]}"
    local status=$?
    cat "${logs[$1]}"
    rm -f "${logs[$1]}"
    return $status
}

pyright() {
    command -v node >/dev/null || { echo "node is needed for pyright (Debian: nodejs, npm)"; return 1; }
    [ -d scripts/pyright/node_modules/pyright ] || npm ci --prefix scripts/pyright --silent || return 1
    node scripts/pyright/node_modules/pyright/index.js --pythonpath .venv/bin/python
}

web() {
    bash scripts/web.sh --modules || return 1
    npm --prefix web run --silent check
}

quick_lint() {
    check ruff "$bin/ruff" check --quiet src tests scripts benchmarks
    check format "$bin/ruff" format --check --quiet src tests scripts benchmarks
    check length "$bin/python" scripts/check_length.py
    check names "$bin/python" scripts/check_names.py
    check events "$bin/python" scripts/check_events.py
    check system-calls "$bin/python" scripts/check_system_calls.py
    [ ${#failed[@]} -eq 0 ]
}

if [ "${1:-}" = --quick ]; then
    start pyright pyright
    start lint quick_lint
    check tests "$bin/python" -m pytest -q -n "${JOBS:-3}" --dist worksteal tests/unit tests/flow
    check lint finish lint
    check pyright finish pyright
else
    start mypy "$bin/mypy" --no-error-summary
    quick_lint
    check dead-code "$bin/python" scripts/check_dead_code.py
    check schemas "$bin/python" scripts/make_schemas.py --check
    check openapi "$bin/python" scripts/make_openapi.py --check
    check layers "$bin/lint-imports" --no-cache
    check pyright pyright
    check web web
    check mypy finish mypy
fi
if [ ${#failed[@]} -gt 0 ]; then echo "failed: ${failed[*]}"; exit 1; fi
echo "all checks passed"
