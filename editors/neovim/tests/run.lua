-- OUTRIGGER_BIN=… nvim --clean --headless -l editors/neovim/tests/run.lua
-- The plugin in a real Neovim: by itself (spec/), and with the real sidecar, real files and a scripted model (e2e/).
-- OUTRIGGER_TEST_ONLY=text runs the tests whose names have the text in them.
local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2)))
package.path = here .. '/?.lua;' .. package.path
vim.opt.runtimepath:prepend(vim.fs.dirname(here))
vim.cmd('filetype plugin on')
vim.cmd('runtime plugin/outrigger.lua')
-- Takes over vim.notify, so that the suite's output is its own.
require('watch')
for _, folder in ipairs({ 'spec', 'e2e' }) do
  local files = {}
  for name in vim.fs.dir(here .. '/' .. folder) do
    files[#files + 1] = name
  end
  table.sort(files)
  for _, name in ipairs(files) do
    dofile(('%s/%s/%s'):format(here, folder, name))
  end
end
require('harness').finish()
