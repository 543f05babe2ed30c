#!/usr/bin/env bash
# Helix as it comes, without a word of support for Outrigger: helix.sh HX
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
helix=$1

make_project
mkdir -p "$work/config/helix"
# As the README says, to the letter; of its two servers the other need not be installed.
block ../../../README.md toml '[language-server.outrigger]' >"$work/config/helix/languages.toml"
cat >"$work/config/helix/config.toml" <<'TOML'
[editor]
end-of-line-diagnostics = "hint"
[editor.inline-diagnostics]
cursor-line = "hint"
other-lines = "hint"
TOML
start "OUTRIGGER_MODEL='$model' XDG_CONFIG_HOME='$work/config' XDG_CACHE_HOME='$work/cache' '$helix' src/lib.rs"
shows 'pub fn eins'
# An unsaved line of the user's.
press g e o
write_text '// getippt 漢字'
press Escape
shows 'getippt 漢字'
is_served
write_text ':lsp-workspace-command outrigger.run "mach es größer"'
press Enter
shows 'mismatched types'
keep helix
press g g
press Space a
shows 'Wie groß?: drei'
keep helix-action
# The first action is selected; one down for each that stands before the wanted one.
for ((above = $(screen | grep -F 'Wie groß?: ' | grep -nF drei | cut -d : -f 1); above > 1; above--)); do
    press Down
done
press Enter
holds '//! Größe.\n\npub fn eins() -> u32 {\n    3\n}\n// getippt 漢字\n'
shows 'getippt 漢字'
keep helix-after
finish
