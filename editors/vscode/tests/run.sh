#!/usr/bin/env bash
# All tests of the VS Code extension: types, style, units, the panel's page, the extension in a real extension host, the
# workbench as a person sees it. OUTRIGGER_BIN is the program to test with; what is needed is installed under target/.
# Screenshots go to target/vscode/screenshots, with UPDATE_SCREENSHOTS=1 those of the README to media/screenshots as well. The exit code is 3 where there is no VS Code or Chromium for this platform.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$(cd ../.. && pwd)
target="${CARGO_TARGET_DIR:-$root/target}/vscode"
shots="$target/screenshots"
mkdir -p "$shots"

command -v npm >/dev/null || {
    echo "vscode: npm is needed; install Node 20 or newer" >&2
    exit 3
}
program=${OUTRIGGER_BIN:-$root/target/debug/outrigger}
[ -x "$program" ] || {
    echo "vscode: there is no program at $program; build it or name it in OUTRIGGER_BIN" >&2
    exit 1
}
program=$(cd "$(dirname "$program")" && pwd)/$(basename "$program")

find_chromium() {
    local name
    for name in "${CHROMIUM:-}" chromium chromium-browser google-chrome; do
        [ -n "$name" ] && command -v "$name" && return 0
    done
    return 1
}
if ! CHROMIUM=$(find_chromium); then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        {
            apt-get update -q
            DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium fonts-dejavu-core
        } >"$target/chromium.log" 2>&1 || true
    fi
    CHROMIUM=$(find_chromium) || {
        echo "vscode: Chromium is needed for the tests of what a person sees; install it or name it in CHROMIUM" >&2
        exit 3
    }
fi
export CHROMIUM

# Again whenever the lock file is another one.
stamp=node_modules/.installed-for
if [ "$(cat "$stamp" 2>/dev/null)" != "$(cksum <package-lock.json)" ]; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    cksum <package-lock.json >"$stamp"
fi
vscode=$(bash "$root/tests/install/vscode")

step() {
    local name=$1
    shift
    echo "-- $name"
    "$@"
}
package() {
    npx vsce package --no-dependencies --allow-missing-repository --no-rewrite-relative-links -o "$target/outrigger.vsix" >"$target/package.log" 2>&1 || {
        cat "$target/package.log"
        return 1
    }
    if grep -E 'WARNING|ERROR' "$target/package.log"; then
        return 1
    fi
    [ "$(wc -c <"$target/outrigger.vsix")" -lt 1000000 ]
}
failed=()
try() {
    step "$@" || failed+=("$1")
}
step types npx tsc -p .
step "types of the panel" npx tsc -p src/panel
try lint npx eslint .
try format npx prettier --check --log-level warn .
step package package
node build.mjs --unit
OUTRIGGER_BIN=$program try units node --test --test-reporter=dot dist/unit/*.test.js
try panel node tests/panel.mjs "$shots"
node build.mjs
node build.mjs --host
SHOTS=$shots try host node tests/host.mjs "$vscode" "$program"
try ui node tests/ui.mjs "$vscode" "$program" "$target/outrigger.vsix" "$shots"

if [ "${UPDATE_SCREENSHOTS:-}" = 1 ]; then
    for shown in media/screenshots/*.png; do
        cp "$shots/$(basename "$shown")" "$shown"
    done
fi
[ ${#failed[@]} -eq 0 ] || {
    echo "vscode: failed: ${failed[*]}"
    exit 1
}
echo "vscode: all passed; screenshots in $shots"
