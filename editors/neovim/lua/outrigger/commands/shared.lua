--- What the subcommands share: picking one of several, options, and what the cursor is on.
local M = {}

--- A word to the user.
---@param text string
function M.warn(text)
  vim.notify('Outrigger: ' .. text, vim.log.levels.WARN)
end

--- Lets the user pick, unless there is only one or an id says which.
---@generic T
---@param items T[]
---@param id string
---@param texts { none: string, prompt: string, format: fun(item: T): string }
---@param done fun(item: T)
function M.pick(items, id, texts, done)
  if id ~= '' then
    for _, item in ipairs(items) do
      if item.id == id then
        return done(item)
      end
    end
    return M.warn(('%s: %s'):format(texts.none, id))
  elseif #items == 0 then
    return M.warn(texts.none)
  elseif #items == 1 then
    return done(items[1])
  end
  vim.ui.select(items, { prompt = texts.prompt, format_item = texts.format }, function(item)
    if item then
      done(item)
    end
  end)
end

---@param items { id: string }[]
---@return string[]
function M.ids(items)
  return vim.tbl_map(function(item)
    return item.id
  end, items)
end

--- Leading `++name=value` words, as Vim's own commands have them.
---@param arguments string
---@return table<string, string> options
---@return string rest
function M.plus_options(arguments)
  local options = {}
  while true do
    local name, value, rest = arguments:match('^%s*%+%+(%a+)=(%S+)%s*(.*)$')
    if not name then
      return options, arguments
    end
    options[name] = value
    arguments = rest
  end
end

--- Diagnostics that the cursor is on, else those of its line; of a range, all that touch it.
---@param command { range: integer, line1: integer, line2: integer }
---@return vim.Diagnostic[]
function M.diagnostics_at(command)
  local cursor = vim.api.nvim_win_get_cursor(0)
  local first = command.range > 0 and command.line1 or cursor[1]
  local last = command.range > 0 and command.line2 or cursor[1]
  local found = vim.tbl_filter(function(diagnostic)
    return diagnostic.source ~= 'outrigger' and diagnostic.lnum + 1 <= last and diagnostic.end_lnum + 1 >= first
  end, vim.diagnostic.get(0))
  if command.range > 0 then
    return found
  end
  local row, column = cursor[1] - 1, cursor[2]
  local under = vim.tbl_filter(function(diagnostic)
    local from_here = diagnostic.lnum < row or diagnostic.col <= column
    local to_here = diagnostic.end_lnum > row or diagnostic.end_col > column
    return from_here and to_here
  end, found)
  return #under > 0 and under or found
end

return M
