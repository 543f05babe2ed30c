-- nvim --clean --headless -l editors/neovim/tests/unit.lua
-- The plugin by itself: no sidecar, no network.
local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2)))
package.path = here .. '/?.lua;' .. package.path
vim.opt.runtimepath:prepend(vim.fs.dirname(here))
vim.o.swapfile = false
vim.cmd('runtime plugin/outrigger.lua')
for name in vim.fs.dir(here .. '/spec') do
  dofile(here .. '/spec/' .. name)
end
require('harness').finish()
