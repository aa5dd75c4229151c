#!/usr/bin/env bash
# Makes .venv with everything bobstay and its checks need. Safe to run again; does nothing when nothing changed.
set -euo pipefail
cd "$(dirname "$0")/.."

UV_VERSION=0.13.7
venv=.venv
ready="$venv/.ready"
stamp=$(cat requirements.lock pyproject.toml scripts/setup.sh src/bobstay/version.py | sha256sum | cut -c1-32)
[ -f "$ready" ] && [ "$(cat "$ready")" = "$stamp" ] && exit 0

say() { printf 'setup: %s\n' "$*" >&2; }

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.13 python3.12 python3.11 python3.14; do
        [ -n "$candidate" ] || continue
        if command -v "$candidate" >/dev/null && "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            echo "$candidate"
            return
        fi
    done
    say "Python 3.11 or newer is needed and was not found. Install it, or name it: make setup PYTHON=/path/to/python3"
    exit 1
}

make_venv() {
    "$python" -m venv "$venv" 2>"$venv.log" && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "this Python cannot make virtual environments: installing python3-venv"
        apt-get update -qq && apt-get install -y -qq python3-venv >/dev/null
        "$python" -m venv "$venv" && return
    fi
    cat "$venv.log" >&2
    say "could not make $venv. On Debian: sudo apt-get install python3-venv"
    exit 1
}

python=$(find_python)
[ -x "$venv/bin/python" ] || make_venv
rm -f "$venv.log"
say "installing into $venv (first time: about a minute)"
[ -x "$venv/bin/uv" ] || "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION"
export VIRTUAL_ENV="$PWD/$venv"
# The certificates of this machine count, not a list of uv's own: packages may come through a proxy. Where uv cannot
# get through all the same, pip, which is slower, may be set up for it.
export UV_SYSTEM_CERTS=true
"$venv/bin/uv" pip install --quiet --require-hashes -r requirements.lock ||
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
"$venv/bin/uv" pip install --quiet --no-deps --editable . ||
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --editable .
echo "$stamp" >"$ready"
say "done: $venv/bin/bobstay $("$venv/bin/bobstay" --version)"
