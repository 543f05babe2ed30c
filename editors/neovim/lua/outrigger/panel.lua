--- The panel: runs with their plan, questions, findings and changes, in one buffer that is kept up to date.
---
--- Drawn at most every 50 ms from what `runs` and `questions` know, which is bounded, so the number of events does not
--- matter. Only lines that differ are replaced: cursor, folds and scrolling stay where they are.
local client_module = require('outrigger.client')
local questions = require('outrigger.questions')
local runs = require('outrigger.runs')

local M = {}

M.NAME = 'outrigger://panel'

--- Lines of a list that are shown; the rest are counted.
local SHOWN = 50
local DRAW_MS = 50

---@class outrigger.panel.Line
---@field text string
---@field key string what the line is about; the cursor follows it
---@field level string for 'foldexpr'
---@field highlight string?
---@field go fun()? what <CR> does
---@field run outrigger.Run?
---@field question outrigger.wire.Question?
---@field path string? of the change

---@type integer?
local buffer
---@type outrigger.panel.Line[]
local drawn = {}
---@type string[] for 'foldexpr', of the lines that the buffer has now
local levels = {}
local namespace = vim.api.nvim_create_namespace('outrigger.panel')
local scheduled = false

local status_highlights = {
  succeeded = 'DiagnosticOk',
  failed = 'DiagnosticError',
  cancelled = 'Comment',
  interrupted = 'DiagnosticWarn',
  waiting = 'DiagnosticWarn',
}
local plan_marks = { done = '✓', in_progress = '▸', pending = '·', skipped = '–' }
local gate_marks = { pass = '✓', fail = '✗', error = '!', missing = '!', skipped = '–' }
local call_marks = { completed = '✓', failed = '✗', denied = '✗', started = '▸', requested = '·' }

local function one_line(text)
  return (text:gsub('[\r\n\t]+', ' '))
end

--- Shows a buffer outside the panel.
---@param path string absolute
---@param row integer? 1-based
---@param column integer? 0-based, in bytes
local function go_to_file(path, row, column)
  local target
  local previous = vim.fn.win_getid(vim.fn.winnr('#'))
  for _, window in ipairs({ previous, unpack(vim.api.nvim_tabpage_list_wins(0)) }) do
    if
      window ~= 0
      and vim.api.nvim_win_get_buf(window) ~= buffer
      and vim.bo[vim.api.nvim_win_get_buf(window)].buftype == ''
      and vim.api.nvim_win_get_config(window).relative == ''
    then
      target = window
      break
    end
  end
  if target then
    vim.api.nvim_set_current_win(target)
  else
    vim.cmd('topleft vnew')
  end
  local wanted = vim.fn.bufadd(path)
  vim.bo[wanted].buflisted = true
  vim.cmd({ cmd = 'buffer', args = { tostring(wanted) }, mods = { hide = true } })
  if row then
    local line = math.max(1, math.min(row, vim.api.nvim_buf_line_count(0)))
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(0, { line, column or 0 })
    vim.cmd('normal! zv')
  end
end

---@param run outrigger.Run
---@return vim.lsp.Client?
local function client_of(run)
  return vim.lsp.get_client_by_id(run.client_id)
end

--- What the gates say now, of all runs of this client.
---@param client vim.lsp.Client
---@return vim.Diagnostic[]
function M.findings(client)
  local found = vim.tbl_filter(function(diagnostic)
    return diagnostic.source ~= 'outrigger'
  end, vim.diagnostic.get(nil, { namespace = vim.lsp.diagnostic.get_namespace(client.id) }))
  table.sort(found, function(a, b)
    if a.bufnr ~= b.bufnr then
      return vim.api.nvim_buf_get_name(a.bufnr) < vim.api.nvim_buf_get_name(b.bufnr)
    elseif a.lnum ~= b.lnum then
      return a.lnum < b.lnum
    end
    return a.col < b.col
  end)
  return found
end

---@param lines outrigger.panel.Line[]
---@param title string
---@param key string
---@param items any[]
---@param line fun(item: any): outrigger.panel.Line
local function section(lines, title, key, items, line)
  if #items == 0 then
    return
  end
  lines[#lines + 1] = { text = ('  %s (%d)'):format(title, #items), key = key, level = '>2', highlight = 'Title' }
  for index, item in ipairs(items) do
    if index > SHOWN then
      lines[#lines + 1] = { text = ('    … %d more'):format(#items - SHOWN), key = key .. '.more', level = '2' }
      break
    end
    local drawn_line = line(item)
    drawn_line.text = '    ' .. one_line(drawn_line.text)
    drawn_line.level = '2'
    lines[#lines + 1] = drawn_line
  end
end

---@param lines outrigger.panel.Line[]
---@param run outrigger.Run
---@param with_findings boolean
local function draw_run(lines, run, with_findings)
  local client = client_of(run)
  local first = #lines + 1
  local waiting = run.waiting and run.waiting.detail ~= '' and (' – %s'):format(run.waiting.detail) or ''
  lines[first] = {
    text = one_line(
      ('%s  %s%s'):format(run.paused and 'paused' or run.status, vim.split(run.prompt, '\n')[1], waiting)
    ),
    key = run.id,
    level = '>1',
    highlight = status_highlights[run.status] or 'Function',
    go = function()
      require('outrigger.log').show(run)
    end,
  }
  if run.over and run.summary then
    lines[#lines + 1] = {
      text = one_line(('  %s'):format(vim.split(run.summary.text, '\n')[1])),
      key = run.id .. '.summary',
      level = '1',
    }
  end
  local open = vim.tbl_filter(function(question)
    return question.run == run.id
  end, questions.open())
  section(lines, 'Questions', run.id .. '.questions', open, function(question)
    return {
      text = '? ' .. questions.headline(question),
      key = question.id,
      question = question,
      highlight = 'DiagnosticInfo',
      go = function()
        local place = question.place
        local path = place and place.path or question.kind.path
        if client and path then
          go_to_file(
            client_module.absolute(client, path),
            place and place.range.start.line + 1,
            place and place.range.start.utf8
          )
        else
          require('outrigger.prompt').ask(question.id)
        end
      end,
    }
  end)
  local step = 0
  section(lines, 'Plan', run.id .. '.plan', run.plan, function(item)
    step = step + 1
    return {
      text = ('%s %s'):format(plan_marks[item.state] or '·', item.title),
      key = ('%s.plan.%d'):format(run.id, step),
      highlight = item.state == 'done' and 'Comment' or nil,
    }
  end)
  section(lines, 'Changes', run.id .. '.changes', run.order, function(path)
    local change = run.changes[path]
    return {
      text = ('%s  +%d -%d'):format(path, change.added, change.removed),
      key = ('%s.change.%s'):format(run.id, path),
      path = path,
      go = client and function()
        go_to_file(client_module.absolute(client, path))
      end or nil,
    }
  end)
  if with_findings and client then
    section(lines, 'Findings', 'findings.' .. client.id, M.findings(client), function(diagnostic)
      local name = vim.api.nvim_buf_get_name(diagnostic.bufnr)
      local code = diagnostic.code and (tostring(diagnostic.code) .. ' ') or ''
      return {
        text = ('%s:%d:%d %s%s'):format(
          client_module.relative(client, name),
          diagnostic.lnum + 1,
          diagnostic.col + 1,
          code,
          diagnostic.message
        ),
        key = ('finding.%d.%d.%d.%s'):format(diagnostic.bufnr, diagnostic.lnum, diagnostic.col, code),
        highlight = diagnostic.severity == vim.diagnostic.severity.ERROR and 'DiagnosticError' or 'DiagnosticWarn',
        go = function()
          go_to_file(name, diagnostic.lnum + 1, diagnostic.col)
        end,
      }
    end)
  end
  section(lines, 'Gates', run.id .. '.gates', vim.iter(vim.spairs(run.gates)):totable(), function(entry)
    local gate, report = unpack(entry)
    return {
      text = ('%s %s%s'):format(
        gate_marks[report.outcome] or '·',
        gate,
        report.notes[1] and (' – ' .. report.notes[1]) or ''
      ),
      key = ('%s.gate.%s'):format(run.id, gate),
      highlight = (report.outcome == 'error' or report.outcome == 'missing') and 'DiagnosticWarn' or nil,
    }
  end)
  section(lines, 'Tool calls', run.id .. '.calls', vim.iter(run.calls):rev():totable(), function(call)
    return {
      text = ('%s %s %s'):format(call_marks[call.state], call.name, call.summary),
      key = ('%s.call.%s'):format(run.id, call.id),
      highlight = (call.state == 'failed' or call.state == 'denied') and 'DiagnosticWarn' or nil,
    }
  end)
  for index = first, #lines do
    lines[index].run = run
  end
end

---@return outrigger.panel.Line[]
local function compose()
  local lines = { { text = 'Outrigger    ? shows the keys', key = 'head', level = '0', highlight = 'Comment' } }
  local all = runs.all()
  if #all == 0 then
    lines[2] = { text = 'No run yet. :Outrigger run starts one.', key = 'none', level = '0' }
  end
  -- Findings belong to the workspace: they are shown with its newest run.
  local shown = {}
  for _, run in ipairs(all) do
    draw_run(lines, run, not shown[run.client_id])
    shown[run.client_id] = true
  end
  return lines
end

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

---@return outrigger.panel.Line?
local function line_here()
  return drawn[vim.api.nvim_win_get_cursor(0)[1]]
end

--- The question of the cursor's line, or the only one of its run.
---@return table?
local function question_here()
  local line = line_here()
  if not line then
    return nil
  elseif line.question then
    return line.question
  end
  local open = vim.tbl_filter(function(question)
    return not line.run or question.run == line.run.id
  end, questions.open())
  if #open == 1 then
    return open[1]
  end
end

local keys = {
  {
    '<CR>',
    'go to the place, or show the log of the run',
    function()
      local line = line_here()
      if line and line.go then
        line.go()
      end
    end,
  },
  {
    'a',
    'answer the question',
    function()
      local question = question_here()
      if question then
        require('outrigger.prompt').ask(question.id)
      end
    end,
  },
  {
    'r',
    'reply in your own words, in a buffer',
    function()
      local question = question_here()
      if question then
        require('outrigger.reply').open(question.id)
      end
    end,
  },
  {
    'd',
    'show the difference',
    function()
      local question = question_here()
      if question then
        require('outrigger.diff').open(question.id)
      end
    end,
  },
  {
    'c',
    'cancel the run',
    function()
      local line = line_here()
      if line and line.run and (not line.run.over or line.run.status == 'interrupted') then
        runs.cancel(line.run)
      end
    end,
  },
  {
    'p',
    'pause the run, or let it go on',
    function()
      local line = line_here()
      if line and line.run and not line.run.over then
        runs.steer(line.run, { type = line.run.paused and 'goOn' or 'pause' })
      end
    end,
  },
  {
    's',
    'tell the agent something',
    function()
      local line = line_here()
      if line and line.run and not line.run.over then
        vim.cmd('Outrigger steer ' .. line.run.id)
      end
    end,
  },
  {
    'R',
    'resume the run',
    function()
      local line = line_here()
      if line and line.run and line.run.status == 'interrupted' then
        runs.resume(line.run.id)
      end
    end,
  },
  {
    'X',
    'revert the file, or all of the run; asks first',
    function()
      local line = line_here()
      local client = line and line.run and client_of(line.run)
      if line and client then
        require('outrigger.undo').revert(client, line.run, line.path and { line.path } or nil)
      end
    end,
  },
  {
    'L',
    'show the log of the run',
    function()
      local line = line_here()
      if line and line.run then
        require('outrigger.log').show(line.run)
      end
    end,
  },
  {
    'q',
    'close the panel',
    function()
      M.close()
    end,
  },
}

local function show_keys()
  local lines = { 'za zM zR  fold' }
  for _, key in ipairs(keys) do
    lines[#lines + 1] = ('%-9s %s'):format(key[1], key[2])
  end
  vim.lsp.util.open_floating_preview(lines, 'text', { border = 'rounded', title = 'Outrigger', focus = false })
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
  for _, key in ipairs(keys) do
    vim.keymap.set('n', key[1], key[3], { buffer = panel, nowait = true, desc = 'Outrigger: ' .. key[2] })
  end
  vim.keymap.set('n', '?', show_keys, { buffer = panel, nowait = true, desc = 'Outrigger: show the keys' })
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
