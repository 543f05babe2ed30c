-- What the plugin says of itself: help, health, and what it costs to have it.
local t = require('harness')

local plugin = vim.fs.dirname(vim.fs.dirname(vim.api.nvim_get_runtime_file('lua/outrigger/init.lua', false)[1]))
plugin = vim.fs.dirname(plugin)

--- The tags of the help file, made in a copy: the plugin's own folder stays as it is.
local function tags()
  local folder = t.folder() .. '/doc'
  t.write(folder .. '/outrigger.txt', assert(t.read(plugin .. '/doc/outrigger.txt')))
  vim.cmd('helptags ' .. vim.fn.fnameescape(folder))
  local found = {}
  for line in assert(t.read(folder .. '/tags')):gmatch('[^\n]+') do
    found[line:match('^[^\t]+')] = true
  end
  return found
end

t.test('every subcommand has its help, and every link of the help leads somewhere', function()
  local own = tags()
  t.equal(true, own[':Outrigger'])
  for _, name in ipairs(require('outrigger.commands').names()) do
    t.equal(true, own[':Outrigger-' .. name], ('no help for %s'):format(name))
  end
  for link in assert(t.read(plugin .. '/doc/outrigger.txt')):gmatch('|([^|%s]+)|') do
    local there = own[link] or #vim.fn.getcompletion(link, 'help') > 0 or link == 'vim.pack'
    t.equal(true, there, ('nothing is tagged %s'):format(link))
  end
end)

t.test('every option and map of the help exists, and the other way round', function()
  local help = assert(t.read(plugin .. '/doc/outrigger.txt'))
  for name in help:match('setup%({\n(.-)\n    }%)'):gmatch('\n?%s+(%w+_?%w*) =') do
    if name ~= 'cmd' and name ~= 'enable' and name ~= 'conflict' then
      t.equal(
        {},
        require('outrigger.config').problems({
          [name] = ({
            model = '',
            policy = {},
            budget = {},
            prompt = true,
            idle_ms = 1,
            notify = true,
          })[name],
        }),
        name
      )
    end
  end
  for name in help:gmatch('<Plug>%(([%w-]+)%)') do
    t.equal(true, vim.fn.maparg(('<Plug>(%s)'):format(name), 'n') ~= '', name)
  end
  t.contains('there is no option `modle`', table.concat(require('outrigger.config').problems({ modle = 'x' })))
  local ok, problem = pcall(require('outrigger').setup, { notify = 'yes' })
  t.equal(false, ok)
  t.contains('option `notify` must be a boolean', problem)
end)

t.test('checkhealth says what is missing and what to do', function()
  local function report()
    vim.cmd('silent checkhealth outrigger')
    local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\n')
    vim.cmd('silent! bwipeout!')
    return text
  end
  local cmd = vim.lsp.config.outrigger.cmd
  vim.lsp.config('outrigger', { cmd = { '/nirgends/outrigger', 'lsp' } })
  local missing = report()
  t.contains('there is no program `/nirgends/outrigger`', missing)
  t.contains('not enabled', missing)
  vim.lsp.config('outrigger', { cmd = { vim.env.OUTRIGGER_BIN, 'lsp' } })
  local found = report()
  t.equal(nil, found:match('there is no program'))
  t.equal(true, found:match('OK outrigger %d+%.%d+') ~= nil, found)
  vim.lsp.config('outrigger', { cmd = { vim.v.progpath, 'lsp' } })
  t.contains('is another program', report())
  vim.lsp.config('outrigger', { cmd = cmd })
end)

t.test('having the plugin costs less than a millisecond at startup, and loads nothing', function()
  -- The least of some runs in fresh processes: what it costs when nothing else is in the way.
  local least
  for _ = 1, 5 do
    local log = vim.fn.tempname()
    local result = vim
      .system({ vim.v.progpath, '--clean', '--headless', '--startuptime', log, '--cmd', 'set rtp^=' .. plugin, '+qa!' })
      :wait(20000)
    t.equal(0, result.code)
    local line = assert(t.read(log)):match('[^\n]*plugin/outrigger%.lua')
    local self_ms = tonumber(assert(line, 'the plugin was not sourced'):match('(%d+%.%d+): sourcing'))
    least = math.min(least or self_ms, self_ms)
  end
  t.equal(true, least < 1, ('%.3f ms'):format(least))
  local loaded = vim
    .system({
      vim.v.progpath,
      '--clean',
      '--headless',
      '--cmd',
      'set rtp^=' .. plugin,
      '+lua io.stderr:write(vim.inspect(vim.tbl_filter(function(m) return m:match("^outrigger") end, vim.tbl_keys(package.loaded))))',
      '+qa!',
    }, { text = true })
    :wait(20000)
  t.equal('{}', vim.trim(loaded.stderr))
end)
