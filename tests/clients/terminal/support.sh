# What the suites of editors in a terminal share: a project, a script for its model, a terminal, and reading the screen.
# Sourced; needs OUTRIGGER_BIN and tmux.

set -euo pipefail
export LC_ALL=C.UTF-8
work=$(mktemp -d)
project="$work/maß 漢字"
export OUTRIGGER_STATE_DIR="$work/state"
socket="outrigger-$$"
passed=0

terminal() {
    tmux -L "$socket" -f /dev/null "$@"
}

clean_up() {
    terminal kill-server 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT

# A Rust project with one file, and a script that breaks it, asks, and repairs it.
make_project() {
    mkdir -p "$project/src" "$OUTRIGGER_STATE_DIR"
    printf '[package]\nname = "mass"\nversion = "0.1.0"\nedition = "2021"\n' >"$project/Cargo.toml"
    printf '//! Größe.\n\npub fn eins() -> u32 {\n    1\n}\n' >"$project/src/lib.rs"
    cat >"$work/turns.script.jsonl" <<'SCRIPT'
{"script":1,"name":"terminal"}
{"emit":[{"tool":"read","args":{"path":"src/lib.rs"}}]}
{"emit":[{"tool":"edit","args":{"path":"src/lib.rs","edits":[{"old":"    1\n","new":"    \"漢字\"\n"}]}}]}
{"expect":{"last":{"contains":"E0308"}},"emit":[{"tool":"ask","args":{"question":"Wie groß?","choices":["zwei","drei"],"path":"src/lib.rs","line":1}}]}
{"expect":{"last":{"contains":"drei"}},"emit":[{"tool":"edit","args":{"path":"src/lib.rs","edits":[{"old":"    \"漢字\"\n","new":"    3\n"}]}}]}
{"emit":[{"text":"Fertig."}]}
SCRIPT
    model="scripted:$work/turns.script.jsonl"
}

# start COMMAND: in a terminal of 110 by 24, in the project's folder.
start() {
    terminal new-session -d -s editor -x 110 -y 24 -c "$project" "exec env TERM=tmux-256color COLORTERM=truecolor $1"
}

screen() {
    terminal capture-pane -p -t editor 2>/dev/null || true
}

# block FILE LANGUAGE TEXT: the first block of code in that language with this text, of a file beside this one, as a reader
# would copy it.
block() {
    awk -v fence="\`\`\`$2" -v text="$3" '
        $0 == fence { inside = 1; code = ""; next }
        inside && /^```/ { inside = 0; if (index(code, text)) { printf "%s", code; found = 1; exit } }
        inside { code = code $0 "\n" }
        END { exit !found }
    ' "$(dirname "${BASH_SOURCE[0]}")/$1" || {
        echo "FAIL $1 has no block of $2 with: $3" >&2
        exit 1
    }
}

# is_served: waits until the sidecar has the project open: before, an editor has nobody to send a command to.
is_served() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        if [[ -n $(ls -A "$OUTRIGGER_STATE_DIR") ]]; then
            return
        fi
        sleep 0.1
    done
    echo "FAIL the editor never started the sidecar"
    exit 1
}

# shows TEXT: waits until the screen has it.
shows() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        if screen | grep -qF -- "$1"; then
            passed=$((passed + 1))
            echo "ok   the screen shows: $1"
            return 0
        fi
        sleep 0.05
    done
    echo "FAIL the screen never showed: $1"
    screen
    echo "$passed passed, 1 failed"
    exit 1
}

# holds TEXT: waits until the file has exactly this text.
holds() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        if printf "$1" | cmp -s - "$project/src/lib.rs"; then
            passed=$((passed + 1))
            echo "ok   the file is as the run left it"
            return 0
        fi
        sleep 0.05
    done
    echo "FAIL the file never became what it should be"
    cat "$project/src/lib.rs"
    screen
    echo "$passed passed, 1 failed"
    exit 1
}

press() {
    terminal send-keys -t editor "$@"
}

write_text() {
    terminal send-keys -t editor -l -- "$1"
}

# Keeps the screen as it is, for people.
keep() {
    if [ -n "${OUTRIGGER_SCREENS:-}" ]; then
        mkdir -p "$OUTRIGGER_SCREENS"
        screen >"$OUTRIGGER_SCREENS/$1.txt"
    fi
}

finish() {
    echo "$passed passed, 0 failed"
}
