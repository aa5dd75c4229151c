#!/usr/bin/env bash
# Plays the offline demo: a scratch project with a failing test, and the scripted demo model that mends it.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
scratch=$(mktemp -d "${TMPDIR:-/tmp}/bobstay-demo.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cat >"$scratch/greeting.py" <<'PY'
def greet(name):
    return "Hello, " + nam
PY
cat >"$scratch/test_greeting.py" <<'PY'
from greeting import greet

assert greet("world") == "Hello, world"
print("ok")
PY
echo "A scratch project with a failing test:"
(cd "$scratch" && python3 test_greeting.py 2>&1 | tail -1) || true
echo
echo '$ bobstay -p "fix the failing test" --model demo --permission-mode acceptEdits \
      --allowedTools "Bash(python3 test_greeting.py)"'
cd "$scratch"
BOBSTAY_HOME="$scratch/.home" "$root/.venv/bin/bobstay" -p "fix the failing test" --model demo \
    --permission-mode acceptEdits --allowedTools "Bash(python3 test_greeting.py)"
echo
echo "The test now says: $(python3 test_greeting.py)"
