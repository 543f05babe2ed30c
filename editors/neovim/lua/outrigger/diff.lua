--- The diff of an overwrite: a tab with yours on the left and the proposal on the right.
---
--- The left side is the real buffer where the file is open, unsaved text included. The right side is what will be written:
--- it can be edited, and hunks are taken and left with `do` and `dp`. Nothing is decided by `:w` or `:q`; only
--- `:Outrigger accept` and `:Outrigger keep` answer. Closing the tab keeps the question, and the edited proposal, open.
local client_module = require('outrigger.client')
local questions = require('outrigger.questions')

local M = {}

---@class outrigger.Diff
---@field question table
---@field client_id integer
---@field left integer buffer
---@field right integer buffer
---@field current string? text that the question is about
---@field proposed string text as it was proposed
---@field tab integer? tabpage, while it is shown
---@field left_window integer?
---@field right_window integer?

---@type table<string, outrigger.Diff> by question
local diffs = {}

--- Lines of a text for a buffer, with what the lines cannot say.
---@param text string
local function as_lines(text)
  local fileformat = 'unix'
  local _, ends = text:gsub('\n', '')
  local _, both = text:gsub('\r\n', '')
  if ends > 0 and ends == both then
    fileformat = 'dos'
    text = text:gsub('\r\n', '\n')
  end
  local lines = vim.split(text, '\n', { plain = true })
  local endofline = #lines > 1 and lines[#lines] == ''
  if endofline then
    table.remove(lines)
  end
  return lines, endofline, fileformat
end

---@param name string
---@param text string
---@param filetype string
---@return integer
local function scratch(name, text, filetype)
  local buffer = vim.api.nvim_create_buf(false, true)
  local lines, endofline, fileformat = as_lines(text)
  vim.api.nvim_buf_set_name(buffer, name)
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].fileformat = fileformat
  local undolevels = vim.bo[buffer].undolevels
  vim.bo[buffer].undolevels = -1
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].undolevels = undolevels
  vim.bo[buffer].endofline = endofline
  vim.bo[buffer].modified = false
  -- Colours only: language servers do not attach to buffers that are no files.
  vim.bo[buffer].filetype = filetype
  return buffer
end

---@param buffer integer
---@return string
local function text_of(buffer)
  local edit = require('outrigger.edit')
  local text = edit.text_of(buffer)
  if #text.lines == 1 and text.lines[1] == '' then
    return ''
  end
  return edit.joined(text)
end

---@param diff outrigger.Diff
local function show(diff)
  vim.cmd('tab split')
  diff.tab = vim.api.nvim_get_current_tabpage()
  diff.left_window = vim.api.nvim_get_current_win()
  vim.cmd({ cmd = 'buffer', args = { tostring(diff.left) }, mods = { hide = true, keepalt = true } })
  diff.right_window = vim.api.nvim_open_win(diff.right, true, { split = 'right', win = diff.left_window })
  local path = diff.question.kind.path:gsub('%%', '%%%%')
  local unsaved = diff.question.kind.unsaved and ' (unsaved text included)' or ''
  vim.wo[diff.left_window][0].winbar = (' yours: %s%s '):format(path, unsaved)
  vim.wo[diff.right_window][0].winbar = ' proposal · :Outrigger accept or keep · g? keys '
  for _, window in ipairs({ diff.left_window, diff.right_window }) do
    vim.api.nvim_win_call(window, function()
      vim.cmd('diffthis')
    end)
  end
  vim.api.nvim_set_current_win(diff.right_window)
  -- The first difference.
  vim.cmd('normal! gg')
  if vim.fn.diff_hlID(1, 1) == 0 then
    vim.cmd('silent! normal! ]c')
  end
end

--- Ends the tab; windows, layout and options elsewhere are as before.
---@param diff outrigger.Diff
local function hide(diff)
  local tab = diff.tab
  diff.tab = nil
  if not tab or not vim.api.nvim_tabpage_is_valid(tab) then
    return
  end
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
    -- A buffer remembers its window's options: diff mode must not be among them.
    vim.api.nvim_win_call(window, function()
      vim.cmd('diffoff')
      vim.wo[0][0].winbar = nil
    end)
  end
  if #vim.api.nvim_list_tabpages() == 1 then
    -- It became the last tab; something has to stay.
    if diff.right_window and vim.api.nvim_win_is_valid(diff.right_window) then
      pcall(vim.api.nvim_win_close, diff.right_window, true)
    end
    return
  end
  local number = vim.api.nvim_tabpage_get_number(tab)
  local here = vim.api.nvim_get_current_tabpage()
  if here == tab and vim.fn.tabpagenr('#') > 0 then
    vim.cmd('tabnext #')
  end
  vim.cmd({ cmd = 'tabclose', range = { number }, bang = true, mods = { hide = true } })
end

--- The question is resolved: the views go, but a proposal that the user has edited stays readable.
---@param id string
local function close(id)
  local diff = diffs[id]
  diffs[id] = nil
  if not diff then
    return
  end
  local edited = vim.api.nvim_buf_is_valid(diff.right) and text_of(diff.right) ~= diff.proposed and not diff.sent
  hide(diff)
  if edited then
    vim.bo[diff.right].buflisted = true
    vim.notify(('Outrigger: your edited proposal is kept in buffer %d'):format(diff.right), vim.log.levels.WARN)
  elseif vim.api.nvim_buf_is_valid(diff.right) then
    vim.api.nvim_buf_delete(diff.right, { force = true })
  end
  if diff.left_is_ours and vim.api.nvim_buf_is_valid(diff.left) then
    vim.api.nvim_buf_delete(diff.left, { force = true })
  end
end

local function map(diff)
  local function local_map(lhs, subcommand, description)
    vim.keymap.set('n', lhs, '<Cmd>Outrigger ' .. subcommand .. '<CR>', {
      buffer = diff.right,
      desc = 'Outrigger: ' .. description,
    })
  end
  local_map('<LocalLeader>a', 'accept', 'write this side')
  local_map('<LocalLeader>k', 'keep', 'keep yours')
  local_map('<LocalLeader>t', 'hunk take', "put the proposal's hunk back")
  local_map('<LocalLeader>l', 'hunk leave', 'leave yours in this hunk')
  vim.keymap.set('n', 'g?', function()
    vim.notify(table.concat({
      'The right side is what will be written; edit it as you like.',
      'do              leave yours in this hunk          (also <LocalLeader>l)',
      "<LocalLeader>t  put the proposal's hunk back",
      ']c [c           next and previous difference',
      ':Outrigger accept       write the right side      (also <LocalLeader>a)',
      ':Outrigger keep [why]   keep yours, tell why      (also <LocalLeader>k)',
      'Closing the tab decides nothing.',
    }, '\n'))
  end, { buffer = diff.right, desc = 'Outrigger: keys of this tab' })
end

--- Opens the diff of a question, or goes to it where it is open.
---@param id string
---@param done fun()?
function M.open(id, done)
  local question, client = questions.get(id)
  if not question or not client then
    return vim.notify(('Outrigger: question %s is not open any more'):format(id), vim.log.levels.WARN)
  elseif questions.kind_of(question) ~= 'overwrite' then
    return vim.notify('Outrigger: this question is about no file; use :Outrigger answer', vim.log.levels.WARN)
  end
  local existing = diffs[id]
  if existing then
    if existing.tab and vim.api.nvim_tabpage_is_valid(existing.tab) then
      vim.api.nvim_set_current_tabpage(existing.tab)
    else
      show(existing)
    end
    return done and done()
  end

  local file = client_module.absolute(client, question.kind.path)
  local filetype = vim.filetype.match({ filename = file }) or ''
  local function read(side, next_step)
    if not question.kind[side] then
      -- There is no such side: a file that was deleted, or shall be.
      return next_step('')
    end
    client_module.request(
      client,
      'outrigger/document/read',
      { uri = ('outrigger:/question/%s/%s'):format(id, side) },
      function(result)
        next_step(result.text)
      end
    )
  end
  read('current', function(current)
    read('proposed', function(proposed)
      if diffs[id] or not questions.get(id) then
        return
      end
      local open_buffer = require('outrigger.document').buffer_of(vim.uri_from_fname(file))
      local left = open_buffer or scratch(('outrigger://%s/yours/%s'):format(id, question.kind.path), current, filetype)
      if not open_buffer then
        vim.bo[left].modifiable = false
      end
      local diff = {
        question = question,
        client_id = client.id,
        left = left,
        left_is_ours = not open_buffer,
        right = scratch(('outrigger://%s/proposal/%s'):format(id, question.kind.path), proposed, filetype),
        current = current,
        proposed = proposed,
      }
      diffs[id] = diff
      questions.view(id, 'diff', function()
        close(id)
      end)
      map(diff)
      show(diff)
      if done then
        done()
      end
    end)
  end)
end

--- The diff of the current tab, or the only one.
---@return string? id
---@return outrigger.Diff?
function M.here()
  local tab = vim.api.nvim_get_current_tabpage()
  for id, diff in pairs(diffs) do
    if diff.tab == tab then
      return id, diff
    end
  end
  local id, diff = next(diffs)
  if id and next(diffs, id) == nil then
    return id, diff
  end
end

--- What the right side says, as an answer: in terms of the proposal's own hunks where it can be said so, because that
--- tells the agent more than a text.
---@param question table
---@param current string
---@param proposed string
---@param text string
---@return table answer
function M.answer_for(question, current, proposed, text)
  if text == proposed then
    return { type = 'takeAll' }
  elseif text == current then
    return { type = 'keepMine' }
  end
  local function lines_of(string_text)
    local lines = {}
    for line in string_text:gmatch('[^\n]*\n?') do
      if line ~= '' then
        lines[#lines + 1] = line
      end
    end
    return lines
  end
  local old, new = lines_of(current), lines_of(text)
  local compare = vim.text and vim.text.diff or vim.diff
  local parts = compare(current, text, { result_type = 'indices' })
  local taken = {}
  for _, part in ipairs(parts) do
    local old_start, old_count, new_start, new_count = unpack(part)
    local removed = vim.list_slice(old, old_start, old_start + old_count - 1)
    local added = vim.list_slice(new, new_start, new_start + new_count - 1)
    local match
    for _, hunk in ipairs(question.kind.hunks) do
      -- An insertion's start is the line before it in one counting, the line itself in the other.
      local start = old_count == 0 and old_start or old_start - 1
      if hunk.oldStart == start and vim.deep_equal(hunk.removed, removed) and vim.deep_equal(hunk.added, added) then
        match = hunk.id
      end
    end
    if not match then
      return { type = 'takeText', text = text }
    end
    taken[#taken + 1] = match
  end
  return { type = 'takeHunks', hunks = taken }
end

--- Answers with the right side.
function M.accept()
  local id, diff = M.here()
  if not id or not diff then
    return vim.notify('Outrigger: no diff is open; use :Outrigger diff', vim.log.levels.WARN)
  end
  local answer = M.answer_for(diff.question, diff.current, diff.proposed, text_of(diff.right))
  -- What is sent needs no keeping.
  diff.sent = true
  questions.answer(id, answer, nil, function(err)
    diff.sent = false
    client_module.tell(err)
  end)
end

--- Answers that the file stays as it is.
---@param reason string?
function M.keep(reason)
  local id = M.here()
  if not id then
    return vim.notify('Outrigger: no diff is open; use :Outrigger diff', vim.log.levels.WARN)
  end
  local diff = diffs[id]
  diff.sent = true
  questions.answer(id, { type = 'keepMine', reason = reason }, nil, function(err)
    diff.sent = false
    client_module.tell(err)
  end)
end

--- Per hunk, in the proposal: `leave` puts yours there, `take` puts the proposal's own lines back.
---@param what 'take'|'leave'
function M.hunk(what)
  local _, diff = M.here()
  if not diff or vim.api.nvim_get_current_buf() ~= diff.right then
    return vim.notify('Outrigger: the cursor is not in the right side of a diff', vim.log.levels.WARN)
  end
  if what == 'leave' then
    vim.cmd('diffget ' .. diff.left)
    return
  end
  -- The proposal's own lines at this place, found by comparing what is here with what was proposed.
  local compare = vim.text and vim.text.diff or vim.diff
  local lines = vim.api.nvim_buf_get_lines(diff.right, 0, -1, true)
  local proposed = as_lines(diff.proposed)
  local row = vim.api.nvim_win_get_cursor(0)[1]
  local parts =
    compare(table.concat(lines, '\n') .. '\n', table.concat(proposed, '\n') .. '\n', { result_type = 'indices' })
  for _, part in ipairs(parts) do
    local here, count, there, there_count = unpack(part)
    local last = count == 0 and here + 1 or here + count - 1
    if row >= here and row <= last then
      local first = count == 0 and here or here - 1
      local put = vim.list_slice(proposed, there, there + there_count - 1)
      vim.api.nvim_buf_set_lines(diff.right, first, first + count, true, put)
      vim.cmd('diffupdate')
      return
    end
  end
  vim.notify('Outrigger: this is what was proposed')
end

return M
