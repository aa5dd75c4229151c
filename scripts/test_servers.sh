#!/usr/bin/env bash
# Installs the real MCP programs that tests use, in the versions of the lock files; does nothing if they are there.
set -euo pipefail
cd "$(dirname "$0")"
command -v npm >/dev/null || { echo "npm is needed for the tests with real MCP servers (Debian: nodejs, npm)" >&2; exit 1; }
exec 9>test_servers/.lock
flock 9
for folder in test_servers inspector; do
    wanted=$(sha256sum $folder/package-lock.json | cut -c1-32)
    [ "$(cat $folder/node_modules/.ready 2>/dev/null)" = "$wanted" ] && continue
    # npm ci refuses locks without the optional packages of other systems.
    npm ci --silent --prefix $folder >/dev/null 2>&1 || npm install --no-save --silent --prefix $folder
    echo "$wanted" >$folder/node_modules/.ready
done
