#!/usr/bin/env bash
# Installs the real servers that tests connect to, in the versions of the lock file; does nothing if they are there.
set -euo pipefail
cd "$(dirname "$0")/test_servers"
exec 9>.lock
flock 9
wanted=$(sha256sum package-lock.json | cut -c1-32)
[ "$(cat node_modules/.ready 2>/dev/null)" = "$wanted" ] && exit 0
command -v npm >/dev/null || { echo "npm is needed for the tests with real MCP servers (Debian: nodejs, npm)" >&2; exit 1; }
npm ci --silent
echo "$wanted" >node_modules/.ready
