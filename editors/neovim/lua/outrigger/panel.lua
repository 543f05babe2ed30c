--- The panel: runs with their plan, questions, findings and changes, in one buffer that is kept up to date.
---
--- Drawn at most every 50 ms from what `runs` and `questions` know, which is bounded, so the number of events does not
--- matter. Only lines that differ are replaced: cursor, folds and scrolling stay where they are.
local compose = require('outrigger.panel.lines').compose
local questions = require('outrigger.questions')
local runs = require('outrigger.runs')
local tasks = require('outrigger.tasks')

local M = {}

M.NAME = 'outrigger://panel'

local DRAW_MS = 50
---@type integer?
local buffer
---@type outrigger.panel.Line[]
local drawn = {}
---@type string[] for 'foldexpr', of the lines that the buffer has now
local levels = {}
local namespace = vim.api.nvim_create_namespace('outrigger.panel')
local scheduled = false

--- Replaces the lines that differ. Neovim asks for the fold levels while it is being done, so they go along line by line.
---@param texts string[]
local function replace(texts)
  local old = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  local compare = vim.text and vim.text.diff or vim.diff
  local parts = compare(table.concat(old, '\n') .. '\n', table.concat(texts, '\n') .. '\n', { result_type = 'indices' })
  vim.bo[buffer].modifiable = true
  for index = #parts, 1, -1 do
    local old_start, old_count, new_start, new_count = unpack(parts[index])
    local first = old_count == 0 and old_start or old_start - 1
    local put = vim.list_slice(texts, new_start, new_start + new_count - 1)
    local after = vim.list_slice(levels, first + old_count + 1)
    levels = vim.list_slice(levels, 1, first)
    for row = new_start, new_start + new_count - 1 do
      levels[#levels + 1] = drawn[row].level
    end
    vim.list_extend(levels, after)
    vim.api.nvim_buf_set_lines(buffer, first, first + old_count, true, put)
  end
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].modified = false
end

--- What is closed and where the cursor is, by what the lines are about: kept over `:edit`, and in sessions whose
--- 'sessionoptions' have "globals".
---@type { closed: table<string, boolean>, cursor: string? }
local pending = { closed = {} }

--- Remembers the folds and the cursor of the panel's window.
function M.remember()
  local window = buffer and vim.fn.win_findbuf(buffer)[1]
  if not window or #drawn < 2 then
    return
  end
  local kept = { closed = {}, cursor = nil }
  vim.api.nvim_win_call(window, function()
    for row, line in ipairs(drawn) do
      if line.level:sub(1, 1) == '>' and vim.fn.foldclosed(row) == row then
        kept.closed[#kept.closed + 1] = line.key
      end
    end
    local row = vim.api.nvim_win_get_cursor(0)[1]
    local line = drawn[row]
    kept.cursor = row == 1 and pending.cursor or (line and line.key)
  end)
  -- What has not been taken up yet, because it is not drawn yet, still holds.
  vim.list_extend(kept.closed, vim.tbl_keys(pending.closed))
  vim.g.OutriggerPanel = vim.json.encode(kept)
end

--- Reads what was remembered; it is taken up as the lines come that it is about.
local function recall()
  local ok, kept = pcall(vim.json.decode, vim.g.OutriggerPanel or '')
  pending = { closed = {} }
  if ok and type(kept) == 'table' then
    for _, key in ipairs(type(kept.closed) == 'table' and kept.closed or {}) do
      pending.closed[key] = true
    end
    pending.cursor = type(kept.cursor) == 'string' and kept.cursor or nil
  end
end

--- The row of each thing that is drawn.
---@return table<string, integer>
local function rows_of_drawn()
  local rows = {}
  for row, line in ipairs(drawn) do
    rows[line.key] = rows[line.key] or row
  end
  return rows
end

--- Closes the folds and places the cursor as remembered, for what is drawn by now.
function M.take_up()
  local window = buffer and vim.api.nvim_buf_is_loaded(buffer) and vim.fn.win_findbuf(buffer)[1]
  if not window then
    return
  end
  local rows = rows_of_drawn()
  vim.api.nvim_win_call(window, function()
    if pending.cursor and rows[pending.cursor] then
      vim.api.nvim_win_set_cursor(0, { rows[pending.cursor], 0 })
      pending.cursor = nil
    end
    -- Inner folds first: the line of an inner fold cannot be named once the outer one is closed.
    local here = {}
    for key in pairs(pending.closed) do
      if rows[key] then
        here[#here + 1] = { row = rows[key], key = key }
      end
    end
    table.sort(here, function(a, b)
      return a.row > b.row
    end)
    for _, fold in ipairs(here) do
      if vim.fn.foldclosed(fold.row) ~= -1 or pcall(vim.cmd.foldclose, { range = { fold.row } }) then
        pending.closed[fold.key] = nil
      end
    end
  end)
end

function M.draw()
  scheduled = false
  if not buffer or not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  local cursors = {}
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    local cursor = vim.api.nvim_win_get_cursor(window)
    local line = drawn[cursor[1]]
    cursors[window] = line and { key = line.key, column = cursor[2] }
  end
  drawn = compose()
  replace(vim.tbl_map(function(line)
    return line.text
  end, drawn))
  local rows = rows_of_drawn()
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  for row, line in ipairs(drawn) do
    if line.highlight then
      vim.api.nvim_buf_set_extmark(buffer, namespace, row - 1, 0, { line_hl_group = line.highlight })
    end
  end
  if next(pending.closed) ~= nil or pending.cursor then
    -- Once Neovim has made the window's folds of the new lines.
    vim.schedule(M.take_up)
  end
  for window, at in pairs(cursors) do
    local row = rows[at.key]
    if row and row ~= vim.api.nvim_win_get_cursor(window)[1] then
      vim.api.nvim_win_set_cursor(window, { row, math.min(at.column, #drawn[row].text) })
    end
  end
end

local function schedule()
  if not scheduled and buffer then
    scheduled = true
    vim.defer_fn(M.draw, DRAW_MS)
  end
end

--- For 'foldexpr'.
---@return string
function M.fold_level()
  return levels[vim.v.lnum] or '0'
end

--- Options of a window that shows the panel.
local function set_up_window()
  local window = vim.wo[0][0]
  window.foldmethod = 'expr'
  window.foldexpr = "v:lua.require'outrigger.panel'.fold_level()"
  window.foldlevel = 99
  window.number = false
  window.relativenumber = false
  window.wrap = false
  window.signcolumn = 'no'
  window.winfixwidth = true
  window.cursorline = true
end

--- Makes a buffer the panel.
---@param panel integer
function M.attach(panel)
  buffer = panel
  drawn, levels = {}, {}
  vim.bo[panel].buftype = 'nofile'
  vim.bo[panel].bufhidden = 'hide'
  vim.bo[panel].buflisted = false
  vim.bo[panel].swapfile = false
  vim.bo[panel].undolevels = -1
  vim.bo[panel].modifiable = false
  vim.bo[panel].filetype = 'outrigger'
  require('outrigger.panel.keys').map(panel, function()
    return drawn[vim.api.nvim_win_get_cursor(0)[1]]
  end)
  local group = vim.api.nvim_create_augroup('outrigger.panel', {})
  vim.api.nvim_create_autocmd('DiagnosticChanged', { group = group, callback = schedule })
  vim.api.nvim_create_autocmd('BufWinEnter', { group = group, buffer = panel, callback = set_up_window })
  vim.api.nvim_create_autocmd({ 'BufUnload', 'BufWinLeave', 'BufLeave', 'CursorMoved' }, {
    group = group,
    buffer = panel,
    callback = M.remember,
  })
  -- A session is written by a command, or when Neovim ends.
  vim.api.nvim_create_autocmd({ 'CmdlineLeave', 'VimLeavePre' }, { group = group, callback = M.remember })
  recall()
  runs.listen('panel', schedule)
  questions.listen('panel', schedule)
  tasks.listen('panel', schedule)
  for _, window in ipairs(vim.fn.win_findbuf(panel)) do
    vim.api.nvim_win_call(window, set_up_window)
  end
  M.draw()
end

--- Shows the panel in a window at the right, or goes to it.
function M.open()
  if buffer and vim.api.nvim_buf_is_loaded(buffer) then
    for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      if vim.api.nvim_win_get_buf(window) == buffer then
        return vim.api.nvim_set_current_win(window)
      end
    end
  end
  -- The name's BufReadCmd fills it; a buffer that is there already is only shown.
  vim.cmd('keepalt botright vertical 50 split ' .. vim.fn.fnameescape(M.NAME))
end

function M.close()
  if not buffer then
    return
  end
  for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
    pcall(vim.api.nvim_win_close, window, false)
  end
end

--- After a session was restored: its panel is an empty buffer with the right name.
function M.restore()
  for _, candidate in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_get_name(candidate) == M.NAME and vim.api.nvim_buf_is_loaded(candidate) then
      M.attach(candidate)
    end
  end
end

return M
