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
---@field base integer? buffer: what the agent had read, where that is neither what is there nor what it proposes
---@field sent boolean? an answer is on its way
---@field left_is_ours boolean
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
  local sides = { diff.left_window, diff.right_window }
  if diff.base then
    -- Both have changed what was there: it is shown between them.
    local base_window = vim.api.nvim_open_win(diff.base, false, { split = 'right', win = diff.left_window })
    vim.wo[base_window][0].winbar = ' what the agent had read '
    table.insert(sides, 2, base_window)
  end
  for _, window in ipairs(sides) do
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
    for _, window in ipairs(vim.api.nvim_tabpage_list_wins(tab)) do
      local shown = vim.api.nvim_win_get_buf(window)
      if shown == diff.right or shown == diff.base then
        pcall(vim.api.nvim_win_close, window, true)
      end
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
  if diff.base and vim.api.nvim_buf_is_valid(diff.base) then
    vim.api.nvim_buf_delete(diff.base, { force = true })
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
  if diff.base then
    -- With three sides Neovim does not know where to get it from.
    local_map('do', 'hunk leave', 'leave yours in this hunk')
  end
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

--- Three sides are needed where the agent had read something that is neither what is there now nor what it wants.
---@param question outrigger.wire.Question
---@return boolean
local function is_three_way(question)
  local kind = question.kind
  return kind.base ~= nil
    and kind.current ~= nil
    and kind.proposed ~= nil
    and kind.base ~= kind.current
    and kind.base ~= kind.proposed
end

--- Reads the texts of a question, one after the other. A side that does not exist (a file that was deleted, or shall be) is
--- an empty text.
---@param question outrigger.wire.Question
---@param client vim.lsp.Client
---@param sides string[]
---@param done fun(texts: table<string, string>)
local function read(question, client, sides, done)
  local texts = {}
  local function next_side(index)
    local side = sides[index]
    if not side then
      return done(texts)
    elseif not question.kind[side] then
      texts[side] = ''
      return next_side(index + 1)
    end
    local uri = ('outrigger:/question/%s/%s'):format(question.id, side)
    client_module.request(client, 'outrigger/document/read', { uri = uri }, function(result)
      texts[side] = result.text
      next_side(index + 1)
    end)
  end
  next_side(1)
end

---@param question outrigger.wire.Question
---@param client vim.lsp.Client
---@param texts table<string, string>
---@return outrigger.Diff
local function make(question, client, texts)
  local path = question.kind.path
  local file = client_module.absolute(client, path)
  local filetype = vim.filetype.match({ filename = file }) or ''
  local function own(side, text)
    return scratch(('outrigger://%s/%s/%s'):format(question.id, side, path), text, filetype)
  end
  local open_buffer = require('outrigger.document').buffer_of(vim.uri_from_fname(file))
  local diff = {
    question = question,
    client_id = client.id,
    left = open_buffer or own('yours', texts.current),
    left_is_ours = not open_buffer,
    base = texts.base and own('base', texts.base) or nil,
    right = own('proposal', texts.proposed),
    current = texts.current,
    proposed = texts.proposed,
  }
  if not open_buffer then
    vim.bo[diff.left].modifiable = false
  end
  if diff.base then
    vim.bo[diff.base].modifiable = false
  end
  return diff
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
  local sides = { 'current', 'proposed', is_three_way(question) and 'base' or nil }
  read(question, client, sides, function(texts)
    if diffs[id] or not questions.get(id) then
      return
    end
    local diff = make(question, client, texts)
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

--- Puts other lines in the place of the hunk at a row of the right side.
---@param diff outrigger.Diff
---@param other string[] lines to compare the right side with
---@param row integer 1-based, in the right side or in `other`
---@param is_of_other boolean? which of them the row counts in
---@return boolean whether there is a hunk
local function replace_hunk(diff, other, row, is_of_other)
  local compare = vim.text and vim.text.diff or vim.diff
  local lines = vim.api.nvim_buf_get_lines(diff.right, 0, -1, true)
  local parts =
    compare(table.concat(lines, '\n') .. '\n', table.concat(other, '\n') .. '\n', { result_type = 'indices' })
  for _, part in ipairs(parts) do
    local start, count, other_start, other_count = unpack(part)
    local from, size = start, count
    if is_of_other then
      from, size = other_start, other_count
    end
    -- Where nothing is, the lines before and after it stand for it.
    local last = size == 0 and from + 1 or from + size - 1
    if row >= from and row <= last then
      local first = count == 0 and start or start - 1
      local put = vim.list_slice(other, other_start, other_start + other_count - 1)
      vim.api.nvim_buf_set_lines(diff.right, first, first + count, true, put)
      vim.cmd('diffupdate')
      return true
    end
  end
  return false
end

--- Per hunk: `leave` puts yours into the proposal, `take` puts the proposal's own lines back.
---@param what 'take'|'leave'
function M.hunk(what)
  local _, diff = M.here()
  local here = vim.api.nvim_get_current_buf()
  if not diff or (here ~= diff.right and not (what == 'leave' and here == diff.left)) then
    return vim.notify('Outrigger: the cursor is not in the right side of a diff', vim.log.levels.WARN)
  end
  local row = vim.api.nvim_win_get_cursor(0)[1]
  if what == 'take' then
    if not replace_hunk(diff, as_lines(diff.proposed), row) then
      vim.notify('Outrigger: this is what was proposed')
    end
  elseif diff.base then
    -- Between three sides Neovim aligns single lines ('diffopt' linematch), and would take away lines instead.
    local yours = vim.api.nvim_buf_get_lines(diff.left, 0, -1, true)
    if not replace_hunk(diff, yours, row, here == diff.left) then
      vim.notify('Outrigger: both sides are the same here')
    end
  elseif here == diff.left then
    vim.cmd('diffput ' .. diff.right)
  else
    vim.cmd('diffget ' .. diff.left)
  end
end

return M
