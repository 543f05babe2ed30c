--- The transcript of a run in a buffer, one line a record, growing while the run goes on.
local client_module = require('outrigger.client')
local runs = require('outrigger.runs')

local M = {}

local function one_line(text, width)
  text = (text or ''):gsub('%s+', ' ')
  if vim.fn.strchars(text) > width then
    text = vim.fn.strcharpart(text, 0, width) .. '…'
  end
  return text
end

---@param step table
---@return string
function M.step(step)
  return ('%d %s %s'):format(step.number, step.kind, step.target or step.command or step.why or '')
end

--- What is worth reading of each event, beside its type.
---@type table<string, fun(event: table): string>
local detail = {
  runStarted = function(event)
    return ('%s: %s'):format(event.spec.model, event.spec.prompt)
  end,
  statusChanged = function(event)
    local waiting = event.waiting and (' (%s: %s)'):format(event.waiting['for'], event.waiting.detail) or ''
    return ('%s → %s%s'):format(event.from, event.to, waiting)
  end,
  modelCalled = function(event)
    return event.model
  end,
  modelReplied = function(event)
    local usage = event.turn.usage or {}
    return ('%d in, %d out'):format(usage.input or 0, usage.output or 0)
  end,
  modelFailed = function(event)
    return event.failure.advice or event.failure.kind
  end,
  modelRetried = function(event)
    return event.what
  end,
  toolRequested = function(event)
    return ('%s %s'):format(event.name, event.summary)
  end,
  toolCompleted = function(event)
    return event.result
  end,
  toolFailed = function(event)
    return event.error
  end,
  toolDenied = function(event)
    return event.reason
  end,
  planUpdated = function(event)
    return ('%d steps'):format(#event.items)
  end,
  stepStarted = function(event)
    return M.step(event.step)
  end,
  stepEnded = function(event)
    return ('%s: %s%s'):format(event.state, M.step(event.step), event.why and ' – ' .. event.why or '')
  end,
  verificationFailed = function(event)
    return ('%s: %s'):format(table.concat(event.gates, ', '), event.next)
  end,
  budgetWarned = function(event)
    return ('%s: %s of %s'):format(event.limit, tostring(event.used), tostring(event.of))
  end,
  fileHeld = function(event)
    return ('%s by %s'):format(event.path, event.by.holder == 'run' and event.by.run or event.by.holder)
  end,
  questionOpened = function(event)
    return event.question.title
  end,
  questionAnswered = function(event)
    return ('%s: %s'):format(event.by, event.answer.type)
  end,
  questionWithdrawn = function(event)
    return event.reason
  end,
  gatesStarted = function(event)
    return event.why
  end,
  gatesJudged = function(event)
    local verdict = event.verdict
    return ('%d new, %d old findings; failed: %s'):format(
      verdict.newFindings or 0,
      verdict.oldFindings or 0,
      #(verdict.failed or {}) > 0 and table.concat(verdict.failed, ', ') or 'none'
    )
  end,
  changeMade = function(event)
    return ('%s +%d -%d'):format(event.path, event.added, event.removed)
  end,
  ended = function(event)
    return ('%s: %s'):format(event.outcome, event.summary.text)
  end,
}

---@param record table
---@return string
function M.line(record)
  local say = detail[record.event.type]
  local ok, text = pcall(say or function()
    return ''
  end, record.event)
  return vim.trim(
    ('%5d  %s  %-18s %s'):format(
      record.seq,
      os.date('%H:%M:%S', math.floor(record.at / 1000)),
      record.event.type,
      ok and one_line(text, 160) or ''
    )
  )
end

---@param run outrigger.Run
function M.show(run)
  local client = vim.lsp.get_client_by_id(run.client_id)
  if not client then
    return vim.notify('Outrigger: the sidecar of this run is gone', vim.log.levels.WARN)
  end
  local name = ('outrigger://%s/log'):format(run.id)
  local buffer = vim.fn.bufnr('^' .. vim.fn.escape(name, '[]*?\\') .. '$')
  if buffer == -1 then
    buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_name(buffer, name)
    vim.bo[buffer].filetype = 'outriggerlog'
    vim.bo[buffer].modifiable = false
    vim.bo[buffer].bufhidden = 'wipe'
  end
  vim.cmd({ cmd = 'sbuffer', args = { tostring(buffer) }, mods = { keepalt = true } })

  local last = 0
  local function append(records)
    if not vim.api.nvim_buf_is_valid(buffer) then
      return
    end
    local lines = {}
    for _, record in ipairs(records) do
      if record.seq > last then
        last = record.seq
        lines[#lines + 1] = M.line(record)
      end
    end
    if #lines == 0 then
      return
    end
    local count = vim.api.nvim_buf_line_count(buffer)
    local empty = count == 1 and vim.api.nvim_buf_get_lines(buffer, 0, 1, true)[1] == ''
    local at_end = {}
    for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
      at_end[window] = vim.api.nvim_win_get_cursor(window)[1] == count
    end
    vim.bo[buffer].modifiable = true
    vim.api.nvim_buf_set_lines(buffer, empty and 0 or -1, -1, true, lines)
    vim.bo[buffer].modifiable = false
    for window, follows in pairs(at_end) do
      if follows then
        vim.api.nvim_win_set_cursor(window, { vim.api.nvim_buf_line_count(buffer), 0 })
      end
    end
  end
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, {})
  vim.bo[buffer].modifiable = false

  local pending, fetched = {}, false
  runs.listen('log.' .. buffer, function(changed, record)
    if not vim.api.nvim_buf_is_valid(buffer) then
      runs.listen('log.' .. buffer, nil)
    elseif changed.id == run.id and record then
      if fetched then
        append({ record })
      else
        pending[#pending + 1] = record
      end
    end
  end)
  runs.records(client, run.id, 0, append, function(problem)
    fetched = true
    append(pending)
    if problem then
      client_module.tell({ message = problem })
    end
  end)
end

return M
