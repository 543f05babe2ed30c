#!/usr/bin/env bash
# Vim with ALE, a client that takes diagnostics and code actions and little else: vim-ale.sh [VIM [ALE-FOLDER]]
source "$(dirname "${BASH_SOURCE[0]}")/support.sh"
vim=${1:-vim} ale=${2:-/usr/share/vim-ale}

make_project
cat >"$work/vimrc" <<VIM
set nocompatible runtimepath^=$ale signcolumn=yes noswapfile viminfo= autoread encoding=utf-8
filetype plugin on
let g:ale_virtualtext_cursor = 'all'
let g:ale_lint_delay = 0
let g:ale_linters = {'rust': ['outrigger']}
VIM
# As README.md says, to the letter.
block ../README.md vim OutriggerRun >>"$work/vimrc"
start "OUTRIGGER_MODEL='$model' '$vim' -u '$work/vimrc' src/lib.rs"
shows 'pub fn eins'
write_text ':OutriggerRun größer'
press Enter
shows 'mismatched types'
shows 'Wie groß?'
keep vim-ale
press Escape
write_text ':1'
press Enter
write_text ':ALECodeAction'
press Enter
shows 'drei'
keep vim-ale-action
number=$(screen | grep -F drei | grep -oE '[0-9]+' | head -n 1)
write_text "$number"
press Enter
holds '//! Größe.\n\npub fn eins() -> u32 {\n    3\n}\n'
write_text ':checktime'
press Enter
shows '    3'
keep vim-ale-after
finish
