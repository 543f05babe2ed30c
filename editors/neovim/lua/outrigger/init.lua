--- Outrigger: coding-agent runs from Neovim, through the sidecar `outrigger lsp`.
---
--- `vim.lsp.enable('outrigger')` is enough; `setup` is a shorthand that also takes options.
local M = {}

---@class outrigger.SetupOptions: outrigger.Config
---@field cmd string[]? how the sidecar is started; default: `{ 'outrigger', 'lsp' }`
---@field enable boolean? whether the sidecar starts by itself in workspaces; default: true

---@param options outrigger.SetupOptions?
function M.setup(options)
  options = vim.deepcopy(options or {})
  local cmd, enable = options.cmd, options.enable
  options.cmd, options.enable = nil, nil
  local problems = require('outrigger.config').problems(options)
  if #problems > 0 then
    error('outrigger.setup: ' .. table.concat(problems, '; '), 2)
  end
  require('outrigger.config').set(options)
  -- Plugin managers may put the plugin on the runtime path after Neovim has sourced its plugins.
  vim.cmd('runtime plugin/outrigger.lua')
  if cmd then
    vim.lsp.config('outrigger', { cmd = cmd })
  end
  if enable ~= false then
    vim.lsp.enable('outrigger')
  end
end

--- Starts a run. `done` gets its id.
---@param prompt string
---@param options { engine: string?, model: string?, policy: outrigger.wire.PolicyInput?, budget: outrigger.wire.BudgetInput? }?
---@param done fun(run_id: string)?
function M.run(prompt, options, done)
  require('outrigger.runs').start(prompt, options or {}, done)
end

--- Answers a question by its id.
---@param question_id string
---@param answer outrigger.wire.Answer for example `{ type = 'takeAll' }`
---@param done fun()?
function M.answer(question_id, answer, done)
  require('outrigger.questions').answer(question_id, answer, done)
end

--- Open questions, oldest first.
---@return outrigger.wire.Question[]
function M.questions()
  return require('outrigger.questions').open()
end

--- For a statusline: empty when nothing runs and nothing is asked.
---@return string
function M.statusline()
  -- Not loaded before there is something to show.
  local runs = package.loaded['outrigger.runs']
  return runs and runs.statusline() or ''
end

return M
