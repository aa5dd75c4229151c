#!/usr/bin/env bash
# The differential fuzzer of the permission policy: 50,000 commands that it allows are run in a sandbox and must harm nothing.
# A new seed each time, which is printed; --seed repeats a run, --executed and --seconds change its length.
set -uo pipefail
cd "$(dirname "$0")/.."
exec .venv/bin/python -m tests.fuzz "$@"
