-- The types of the wire are those of the sidecar, and only such types are used as there are.
local t = require('harness')

local plugin =
  vim.fs.dirname(vim.fs.dirname(vim.fs.dirname(vim.api.nvim_get_runtime_file('lua/outrigger/init.lua', false)[1])))

t.test('the generated types are those of this sidecar', function()
  local result = vim.system({ assert(vim.env.OUTRIGGER_BIN), 'protocol', '--lua' }, { text = true }):wait(20000)
  t.equal(0, result.code, result.stderr)
  if result.stdout ~= t.read(plugin .. '/lua/outrigger/wire.lua') then
    error('lua/outrigger/wire.lua is out of date: outrigger protocol --lua > editors/neovim/lua/outrigger/wire.lua')
  end
end)

t.test('every type and method of the wire that the plugin names exists', function()
  local wire = assert(t.read(plugin .. '/lua/outrigger/wire.lua'))
  local types, methods = {}, {}
  for word, name in wire:gmatch('%-%-%-@(%l+) (outrigger%.wire%.[%w.]+)') do
    types[name] = word == 'class' or word == 'alias' or nil
  end
  for name in wire:gmatch("%['(outrigger/[%w/]+)'%]") do
    methods[name] = true
  end
  t.equal(true, types['outrigger.wire.Question'] and methods['outrigger/run/revert'])
  for _, folder in ipairs({ '/lua/outrigger/', '/lsp/' }) do
    for file in vim.fs.dir(plugin .. folder, { depth = 3 }) do
      local text = file:match('%.lua$') and file ~= 'wire.lua' and t.read(plugin .. folder .. file) or ''
      for name in text:gmatch('outrigger%.wire%.%u[%w.]*') do
        t.equal(true, types[(name:gsub('%.$', ''))], ('%s in %s'):format(name, file))
      end
      for name in text:gmatch("'(outrigger/%l[%w]*/%l[%w]*)'") do
        t.equal(true, methods[name], ('%s in %s'):format(name, file))
      end
    end
  end
end)
