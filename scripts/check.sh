#!/usr/bin/env bash
# All static checks. Runs them all, then fails if any did.
set -uo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
failed=()

check() {
    local name=$1 began=$SECONDS
    shift
    if "$@"; then printf 'ok    %-14s %ds\n' "$name" $((SECONDS - began)); else
        printf 'FAIL  %-14s %ds\n' "$name" $((SECONDS - began))
        failed+=("$name")
    fi
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

# mypy takes as long as all the others together, and one core: it runs beside them.
mypy_log=$(mktemp)
"$bin/mypy" --no-error-summary >"$mypy_log" 2>&1 &
mypy_process=$!

mypy() {
    wait "$mypy_process"
    local status=$?
    cat "$mypy_log"
    rm -f "$mypy_log"
    return $status
}

check ruff "$bin/ruff" check --quiet src tests scripts benchmarks
check format "$bin/ruff" format --check --quiet src tests scripts benchmarks
check length "$bin/python" scripts/check_length.py
check schemas "$bin/python" scripts/make_schemas.py --check
check openapi "$bin/python" scripts/make_openapi.py --check
check layers "$bin/lint-imports" --no-cache
check pyright pyright
check web web
check mypy mypy
if [ ${#failed[@]} -gt 0 ]; then echo "failed: ${failed[*]}"; exit 1; fi
echo "all checks passed"
