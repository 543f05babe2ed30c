--- What the user set: `require('outrigger').setup{}` or `vim.g.outrigger`, over the defaults.
local M = {}

---@class outrigger.Config
---@field model string? `provider/model` or `scripted:FILE`; nil: what the sidecar is configured with
---@field engine string? how a run thinks: `react` or `plan`; nil: what the sidecar is configured with
---@field policy table? how runs deal with conflicts, merges and commands, as in PROTOCOL.md
---@field budget table? limits of runs, as in PROTOCOL.md
---@field prompt boolean open the prompt for a question by itself when you are idle in Normal mode; otherwise it is only announced
---@field idle_ms integer how long no key must have been typed before such a prompt opens
---@field notify boolean announce questions and the ends of runs by vim.notify()
local defaults = {
  model = nil,
  engine = nil,
  policy = nil,
  budget = nil,
  prompt = false,
  idle_ms = 1500,
  notify = true,
}

local types = {
  model = 'string',
  engine = 'string',
  policy = 'table',
  budget = 'table',
  prompt = 'boolean',
  idle_ms = 'number',
  notify = 'boolean',
}

---@type outrigger.Config?
local current

--- Problems of the given options, in words; empty: none.
---@param options table
---@return string[]
function M.problems(options)
  local problems = {}
  for name, value in pairs(options) do
    if not types[name] then
      problems[#problems + 1] = ('there is no option `%s`'):format(name)
    elseif type(value) ~= types[name] then
      problems[#problems + 1] = ('option `%s` must be a %s, not a %s'):format(name, types[name], type(value))
    end
  end
  table.sort(problems)
  return problems
end

---@param options table?
function M.set(options)
  current = vim.tbl_deep_extend('force', defaults, options or {})
end

---@return outrigger.Config
function M.get()
  if not current then
    M.set(type(vim.g.outrigger) == 'table' and vim.g.outrigger or nil)
  end
  return current
end

return M
