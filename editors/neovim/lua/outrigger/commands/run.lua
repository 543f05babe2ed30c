--- `:Outrigger run`: what the user wants, with a selection and options.
local shared = require('outrigger.commands.shared')

local M = {}

--- The text of a range, with where it is from, for the prompt.
---@param command { line1: integer, line2: integer }
---@return string
local function selection(command)
  local buffer = vim.api.nvim_get_current_buf()
  local lines = vim.api.nvim_buf_get_lines(buffer, command.line1 - 1, command.line2, true)
  local place = ('lines %d-%d'):format(command.line1, command.line2)
  local first, last = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  -- The last visual selection, if that is what the range came from: its characters, not its whole lines.
  if vim.fn.visualmode() == 'v' and first[2] == command.line1 and last[2] == command.line2 then
    local ok, region = pcall(vim.fn.getregion, first, last, { type = 'v' })
    if ok and #region > 0 then
      lines = region
    end
  end
  local client = require('outrigger.client').current(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  if file ~= '' then
    file = client and require('outrigger.client').relative(client, file) or vim.fn.fnamemodify(file, ':.')
  else
    file = 'a buffer without a file'
  end
  local fence = '```'
  while vim.iter(lines):any(function(line)
    return line:find(fence, 1, true) ~= nil
  end) do
    fence = fence .. '`'
  end
  return ('\n\nFrom %s, %s:\n%s%s\n%s\n%s'):format(
    file,
    place,
    fence,
    vim.bo[buffer].filetype,
    table.concat(lines, '\n'),
    fence
  )
end

--- What each option but `++model` can be; all but `++engine` are parts of the policy.
local values = {
  engine = { 'react', 'plan' },
  conflict = { 'ask', 'edit', 'overwrite', 'fail' },
  commands = { 'ask', 'allow', 'deny' },
  review = { 'always', 'large', 'never' },
}

--- The options as they are typed, up to the value.
---@return string[]
local function option_names()
  local names = { '++model=' }
  for name in vim.spairs(values) do
    names[#names + 1] = ('++%s='):format(name)
  end
  return names
end

--- What `++model=` can be: models that need no question over the net to be known, and scripts.
---@param lead string
---@return string[]
local function models(lead)
  local script = lead:match('^%+%+model=scripted:(.*)')
  if script then
    return vim.tbl_map(function(file)
      return '++model=scripted:' .. file
    end, vim.fn.getcompletion(script, 'file'))
  end
  local names = { '++model=scripted:' }
  local client = require('outrigger.client').current()
  local answer = client and client:request_sync('outrigger/models/list', { offline = true }, 2000)
  for _, provider in ipairs(answer and answer.result and answer.result.providers or {}) do
    for _, model in ipairs(provider.models) do
      names[#names + 1] = '++model=' .. model.name
    end
  end
  return names
end

---@param arguments string
---@param command table
function M.run(arguments, command)
  local options, prompt = shared.plus_options(arguments)
  local policy = {}
  for name, value in pairs(options) do
    if not values[name] and name ~= 'model' then
      local there = table.concat(option_names(), ', '):gsub('=', '')
      return shared.warn(('there is no option ++%s; there are %s'):format(name, there))
    elseif name ~= 'model' and name ~= 'engine' then
      policy[name] = value
    end
  end
  local function start(text)
    if not text or vim.trim(text) == '' then
      return
    end
    local seen
    if command.range > 0 then
      text = text .. selection(command)
      seen = {
        firstLine = command.line1,
        lastLine = command.line2,
        text = table.concat(vim.api.nvim_buf_get_lines(0, command.line1 - 1, command.line2, true), '\n') .. '\n',
      }
    end
    require('outrigger.runs').start(text, {
      model = options.model,
      engine = options.engine,
      policy = next(policy) and policy or nil,
      selection = seen,
    })
  end
  if vim.trim(prompt) ~= '' then
    return start(prompt)
  end
  vim.ui.input({ prompt = 'Outrigger, do: ' }, start)
end

---@param lead string
---@param before string
---@return string[]
function M.complete(lead, before)
  local name = lead:match('^%+%+(%a+)=')
  if values[name] then
    return vim.tbl_map(function(value)
      return ('++%s=%s'):format(name, value)
    end, values[name])
  elseif lead:match('^%+%+model=') then
    return models(lead)
  elseif lead:sub(1, 1) == '+' and not before:match('%s[^%s+]%S*%s*$') then
    return option_names()
  end
  return {}
end

return M
