#!/usr/bin/env bash
# Installs the system packages that only tests need, where it may; says what is missing where it may not.
set -uo pipefail
missing=()
command -v bwrap >/dev/null || missing+=(bubblewrap)
command -v git >/dev/null || missing+=(git)
command -v psql >/dev/null && [ -n "$(ls -d /usr/lib/postgresql/*/bin/initdb 2>/dev/null)" ] || missing+=(postgresql)
# The page is tried in a real browser, and its pictures hold more alphabets than one.
[ -n "${BOBSTAY_TEST_CHROMIUM:-}" ] || command -v chromium >/dev/null || missing+=(chromium)
has_font() { [ -n "$(find /usr/share/fonts /usr/local/share/fonts "$HOME/.fonts" "$HOME/.local/share/fonts" -name "$1" -print -quit 2>/dev/null)" ]; }
has_font 'DejaVuSansMono.ttf' || missing+=(fonts-dejavu-core)
has_font 'NotoSansHebrew-*' || missing+=(fonts-noto-core)
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing for the tests: ${missing[*]}"
    apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null && exit 0
fi
echo "The tests need these system packages: ${missing[*]}. On Debian: sudo apt-get install ${missing[*]}" >&2
exit 1
