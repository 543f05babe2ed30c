--- What the panel says: its lines, in order, with what each is about. Draws nothing.
local client_module = require('outrigger.client')
local questions = require('outrigger.questions')
local runs = require('outrigger.runs')
local tasks = require('outrigger.tasks')

local M = {}

--- Lines of a list that are shown; the rest are counted.
local SHOWN = 50

---@class outrigger.panel.Line
---@field text string
---@field key string what the line is about; the cursor follows it
---@field level string for 'foldexpr'
---@field highlight string?
---@field go fun()? what <CR> does
---@field run outrigger.Run?
---@field question outrigger.wire.Question?
---@field path string? of the change
---@field task outrigger.wire.Task?
---@field client vim.lsp.Client? of the task

local status_highlights = {
  succeeded = 'DiagnosticOk',
  failed = 'DiagnosticError',
  cancelled = 'Comment',
  interrupted = 'DiagnosticWarn',
  waiting = 'DiagnosticWarn',
}
local plan_marks = { done = '✓', in_progress = '▸', pending = '·', skipped = '–', failed = '✗' }
local task_marks = { backlog = '·', ready = '○', inProgress = '▸', blocked = '?', failed = '✗' }
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

--- What there is to do, of each workspace.
---@param lines outrigger.panel.Line[]
local function draw_tasks(lines)
  for _, client in ipairs(client_module.all()) do
    local open = vim.tbl_filter(function(task)
      return task.state ~= 'done'
    end, tasks.all(client.id))
    local first = #lines + 1
    section(lines, 'Tasks', 'tasks.' .. client.id, open, function(task)
      local place = task.origin and task.origin.path
      return {
        text = ('%s %s  %s'):format(task_marks[task.state] or '·', task.id, task.title),
        key = ('task.%d.%s'):format(client.id, task.id),
        task = task,
        highlight = (task.state == 'failed' or task.state == 'blocked') and 'DiagnosticWarn' or nil,
        go = place and function()
          go_to_file(client_module.absolute(client, place), task.origin.line or task.origin.firstLine or 1)
        end or nil,
      }
    end)
    for index = first, #lines do
      lines[index].client = client
      -- Beside the runs, not inside one.
      lines[index].level = index == first and '>1' or '1'
    end
  end
end

--- All lines, as they should be now.
---@return outrigger.panel.Line[]
function M.compose()
  local lines = { { text = 'Outrigger    ? shows the keys', key = 'head', level = '0', highlight = 'Comment' } }
  local all = runs.all()
  if #all == 0 then
    lines[2] = { text = 'No run yet. :Outrigger run starts one.', key = 'none', level = '0' }
  end
  draw_tasks(lines)
  -- Findings belong to the workspace: they are shown with its newest run.
  local shown = {}
  for _, run in ipairs(all) do
    draw_run(lines, run, not shown[run.client_id])
    shown[run.client_id] = true
  end
  return lines
end

return M
