#!/usr/bin/env bash
# Builds the browser's page into src/bobstay/server/static/web. Safe to run again; does nothing when nothing changed.
#   web.sh              build the page; fails where it cannot
#   web.sh --modules    only what the build, the checks and the tests of the page need
#   web.sh --or-plain   build it; where it cannot, say so in one line and succeed: the server has a plain page
set -euo pipefail
cd "$(dirname "$0")/.."

NODE_NEEDED=20.19
page=src/bobstay/server/static/web
fresh=src/bobstay/server/static/.web
wanted=${1:-}

say() { printf 'web: %s\n' "$*" >&2; }

give_up() {
    if [ "$wanted" = --or-plain ]; then
        if [ -f "$page/index.html" ]; then say "$1 The console is the one built before."; else say "$1 The console is a plain page."; fi
        exit 0
    fi
    say "$1"
    exit 1
}

check_node() {
    command -v node >/dev/null && command -v npm >/dev/null ||
        give_up "Node.js $NODE_NEEDED or newer is needed to build the page and was not found (https://nodejs.org)."
    node -e 'const [a, b] = process.versions.node.split(".").map(Number), [c, d] = process.argv[1].split(".").map(Number);
        process.exit(a > c || (a === c && b >= d) ? 0 : 1)' "$NODE_NEEDED" ||
        give_up "Node.js $NODE_NEEDED or newer is needed to build the page; here is $(node --version)."
}

stamp_of() { cat "$@" | sha256sum | cut -c1-32; }
is_done() { [ -f "$1" ] && [ "$(cat "$1")" = "$2" ]; }

modules_ready=web/node_modules/.bobstay-installed
page_ready=web/node_modules/.bobstay-built

modules_stamp() { stamp_of web/package.json web/package-lock.json scripts/web.sh; }

source_stamp() {
    {
        modules_stamp
        find web -path web/node_modules -prune -o -type f ! -name '*.test.ts' ! -name '*.test.tsx' -print0 | sort -z | xargs -0 sha256sum
    } | sha256sum | cut -c1-32
}

# Who builds the page by another way does not pack its files: then there are others than here.
files_stamp() { find "$page" -type f 2>/dev/null | sort | sha256sum | cut -c1-32; }

is_built() { [ -f "$page/index.html" ] && is_done "$page_ready" "$(source_stamp) $(files_stamp)"; }

install_modules() {
    local stamp
    stamp=$(modules_stamp)
    is_done "$modules_ready" "$stamp" && return
    say "installing into web/node_modules (first time: about half a minute)"
    mkdir -p web/node_modules
    # The first takes the lock to the letter, and so refuses one that does not name the packages of every other platform.
    npm --prefix web ci --no-audit --no-fund >/dev/null 2>&1 ||
        npm --prefix web install --no-audit --no-fund --no-save --loglevel=error >&2 ||
        give_up "the packages of the page could not be installed; npm says above why."
    echo "$stamp" >"$modules_ready"
}

build_page() {
    local sources
    is_built && return
    sources=$(source_stamp)
    say "building the page"
    rm -rf "$fresh"
    npm --prefix web run --silent build -- --outDir "$PWD/$fresh" --emptyOutDir --logLevel warn >&2 ||
        give_up "the page could not be built; see above."
    # Packed once here, not for each browser; fonts and pictures are packed already.
    find "$fresh/assets" -type f \( -name '*.js' -o -name '*.css' -o -name '*.svg' -o -name '*.json' -o -name '*.wasm' \) -size +1k \
        -exec gzip -9 -n -k {} +
    # A server that runs meanwhile sees the old page or the new one, and nothing between.
    rm -rf "$fresh.old"
    [ ! -d "$page" ] || mv "$page" "$fresh.old"
    mv "$fresh" "$page"
    rm -rf "$fresh.old"
    echo "$sources $(files_stamp)" >"$page_ready"
    say "done: $(du -sh "$page" | cut -f1) in $page"
}

# The plain page is all there is where the sources are not, as in a copy of the package.
[ -f web/package.json ] || give_up "there are no sources of the page here."
[ "$wanted" = --modules ] && is_done "$modules_ready" "$(modules_stamp)" && exit 0
[ "$wanted" != --modules ] && is_built && exit 0
check_node
mkdir -p web/node_modules
# Two at once would write into each other's files.
exec 9>web/node_modules/.bobstay-lock
command -v flock >/dev/null && flock 9
install_modules
[ "$wanted" = --modules ] || build_page
