--- `:Outrigger trust`: what the workspace's own file says is run may be run, after the user has read it.
local shared = require('outrigger.commands.shared')

local M = {}

---@param client vim.lsp.Client
---@param arguments string[]
---@param said string
local function run(client, arguments, said)
  local config = vim.lsp.config.outrigger
  if type(config.cmd) ~= 'table' then
    return shared.warn('`cmd` is a function; run `outrigger trust` in a terminal')
  end
  local command = vim.list_extend({ config.cmd[1], 'trust', '--root', client.root_dir }, arguments)
  vim.system(command, { text = true, env = config.cmd_env }, function(result)
    vim.schedule(function()
      if result.code ~= 0 then
        return shared.warn(vim.trim(result.stderr))
      end
      vim.notify(('Outrigger: %s: %s'):format(client.root_dir, said))
    end)
  end)
end

---@param arguments string
function M.run(arguments)
  require('outrigger.client').with(function(client)
    if arguments == 'forget' then
      return run(client, { '--forget' }, 'not trusted any more')
    end
    local file = require('outrigger.client').absolute(client, 'outrigger.toml')
    if vim.uv.fs_stat(file) then
      vim.cmd('split ' .. vim.fn.fnameescape(file))
    end
    local trust, leave = 'Trust it, until one of these files changes', 'Not now'
    vim.ui.select({ trust, leave }, {
      prompt = ('May what %s says be run?'):format(file),
      kind = 'outrigger.trust',
    }, function(item)
      if item == trust then
        run(client, {}, 'trusted, until its files change')
      end
    end)
  end)
end

---@return string[]
function M.complete()
  return { 'forget' }
end

return M
