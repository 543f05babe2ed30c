--- Runs as this Neovim knows them: what the events add up to, and starting and cancelling them.
local client_module = require('outrigger.client')
local config = require('outrigger.config')

local M = {}

---@class outrigger.Run
---@field id string
---@field client_id integer
---@field prompt string
---@field status string as in PROTOCOL.md: queued, planning, executing, verifying, waiting, succeeded, failed, cancelled, interrupted
---@field waiting outrigger.wire.Waiting?
---@field plan outrigger.wire.PlanItem[]
---@field changes table<string, table> by path: what the run made of it
---@field order string[] paths in the order of their first change
---@field new_findings integer findings that the run introduced, as last judged
---@field gates table<string, outrigger.wire.GateReport> the latest report of each gate, without its findings
---@field tokens integer
---@field calls outrigger.Call[] the latest tool calls
---@field seq integer number of the last record seen
---@field started_at integer milliseconds since 1970
---@field over boolean
---@field paused boolean? by the user
---@field outcome string?
---@field summary outrigger.wire.Summary?

---@class outrigger.Call
---@field id string
---@field name string
---@field summary string
---@field state 'requested'|'started'|'completed'|'failed'|'denied'

--- Tool calls kept a run; the transcript has them all.
local CALLS = 50

---@type table<string, outrigger.Run>
local runs = {}
---@type string[] ids in the order in which they became known
local order = {}
---@type table<string, fun(run: outrigger.Run, record: table?)>
local listeners = {}

--- Called after each change of a run, by name so that a listener can be replaced.
---@param name string
---@param listener fun(run: outrigger.Run, record: table?)?
function M.listen(name, listener)
  listeners[name] = listener
end

local function changed(run, record)
  for _, listener in pairs(listeners) do
    listener(run, record)
  end
end

---@param client_id integer
---@param id string
---@return outrigger.Run
local function known(client_id, id)
  local run = runs[id]
  if not run then
    run = {
      id = id,
      client_id = client_id,
      prompt = '',
      status = 'queued',
      plan = {},
      changes = {},
      order = {},
      new_findings = 0,
      gates = {},
      tokens = 0,
      calls = {},
      seq = 0,
      started_at = os.time() * 1000,
      over = false,
    }
    runs[id] = run
    order[#order + 1] = id
  end
  run.client_id = client_id
  return run
end

local function call_of(run, id)
  for index = #run.calls, 1, -1 do
    if run.calls[index].id == id then
      return run.calls[index]
    end
  end
end

local function call_is(state)
  return function(run, event)
    local call = call_of(run, event.call)
    if call then
      call.state = state
    end
  end
end

--- What each event adds. Events that are not here add nothing to what is shown.
---@type table<string, fun(run: outrigger.Run, event: table, at: integer)>
local apply = {
  runStarted = function(run, event, at)
    run.prompt = event.spec.prompt
    run.model = event.spec.model
    run.started_at = at
  end,
  statusChanged = function(run, event)
    run.status = event.to
    run.waiting = event.waiting
  end,
  steered = function(run, event)
    if event.steer.type == 'pause' then
      run.paused = true
    elseif event.steer.type == 'goOn' then
      run.paused = nil
    end
  end,
  resumed = function(run)
    run.over = false
    run.outcome = nil
    run.summary = nil
  end,
  modelReplied = function(run, event)
    local usage = event.turn.usage or {}
    run.tokens = run.tokens + (usage.input or 0) + (usage.output or 0)
  end,
  toolRequested = function(run, event)
    table.insert(run.calls, { id = event.call, name = event.name, summary = event.summary, state = 'requested' })
    if #run.calls > CALLS then
      table.remove(run.calls, 1)
    end
  end,
  toolStarted = call_is('started'),
  toolCompleted = call_is('completed'),
  toolFailed = call_is('failed'),
  toolDenied = call_is('denied'),
  planUpdated = function(run, event)
    run.plan = event.items
  end,
  gatesReported = function(run, event)
    for _, report in ipairs(event.reports) do
      -- The findings are diagnostics; kept here as well they would be held a second time for each run.
      run.gates[report.gate] = vim.tbl_extend('force', report, { findings = {} })
    end
  end,
  gatesJudged = function(run, event)
    run.new_findings = event.verdict.newFindings or 0
  end,
  changeMade = function(run, event)
    local change = run.changes[event.path]
    if not change then
      change = { path = event.path, before = event.before, added = 0, removed = 0 }
      run.changes[event.path] = change
      run.order[#run.order + 1] = event.path
    end
    change.after = event.after
    local client = event.after == nil and vim.lsp.get_client_by_id(run.client_id)
    if client then
      require('outrigger.document').deleted(client, event.path)
    end
    change.added = change.added + (event.added or 0)
    change.removed = change.removed + (event.removed or 0)
  end,
  ended = function(run, event)
    run.over = true
    run.status = event.outcome
    run.outcome = event.outcome
    run.summary = event.summary
    run.waiting = nil
    run.paused = nil
  end,
}

local levels = {
  succeeded = vim.log.levels.INFO,
  cancelled = vim.log.levels.INFO,
  failed = vim.log.levels.ERROR,
  interrupted = vim.log.levels.WARN,
}

---@param run outrigger.Run
local function announce_end(run)
  if not config.get().notify then
    return
  end
  local text = vim.split(run.summary and run.summary.text or '', '\n', { plain = true })[1]
  local files = run.summary and #(run.summary.files or {}) or 0
  vim.notify(
    ('Outrigger: run %s, %d file%s changed. %s'):format(run.outcome, files, files == 1 and '' or 's', text),
    levels[run.outcome] or vim.log.levels.INFO
  )
end

---@type table<string, boolean> runs whose missed records are being fetched
local catching_up = {}

--- Fetches records after `seq`, all pages, in order.
---@param client vim.lsp.Client
---@param run_id string
---@param seq integer
---@param each fun(records: table[])
---@param done fun(problem: string?)
function M.records(client, run_id, seq, each, done)
  client_module.request(client, 'outrigger/run/events', { runId = run_id, afterSeq = seq }, function(result)
    each(result.records)
    local last = result.records[#result.records]
    if result.more and last then
      return M.records(client, run_id, last.seq, each, done)
    end
    done(nil)
  end, function(err)
    done(err.message or 'unknown error')
  end)
end

local function take(run, record, live)
  if record.seq <= run.seq then
    return
  end
  run.seq = record.seq
  local add = apply[record.event.type]
  if add then
    add(run, record.event, record.at)
  end
  changed(run, record)
  if live and record.event.type == 'ended' then
    announce_end(run)
  elseif live and record.event.type == 'budgetWarned' and config.get().notify then
    local event = record.event
    vim.notify(
      ('Outrigger: %s of %s used (%s)'):format(tostring(event.used), tostring(event.of), tostring(event.limit)),
      vim.log.levels.WARN
    )
  end
end

--- Something was recorded. A gap in the numbers is filled from the transcript.
---@param client_id integer
---@param run_id string
---@param record table
function M.recorded(client_id, run_id, record)
  local run = known(client_id, run_id)
  if catching_up[run_id] then
    return
  end
  if record.seq <= run.seq + 1 then
    return take(run, record, true)
  end
  local client = vim.lsp.get_client_by_id(client_id)
  if not client then
    return
  end
  catching_up[run_id] = true
  M.records(client, run_id, run.seq, function(records)
    for _, missed in ipairs(records) do
      take(run, missed, true)
    end
  end, function()
    catching_up[run_id] = nil
    -- What was recorded while the last page was on its way is in that page or comes as an event with a gap.
    take(run, record, true)
  end)
end

--- What a sidecar says of a run whose events this Neovim has not seen.
---@param client_id integer
---@param view outrigger.wire.RunView
---@return outrigger.Run
local function seen(client_id, view)
  local run = known(client_id, view.runId)
  if run.seq == 0 then
    run.prompt = view.prompt
    run.model = view.model
    run.status = view.status
    run.waiting = view.waiting
    run.started_at = view.startedAt
    run.plan = view.plan
    run.new_findings = view.findings
    run.transcript = view.transcript
    run.over = view['end'] ~= nil or view.status == 'interrupted'
    if view['end'] then
      run.outcome = view['end'].outcome
      run.summary = view['end'].summary
    end
    changed(run)
  end
  return run
end

--- A run that an earlier process did not end: it can be taken up or cancelled.
---@param client_id integer
---@param view outrigger.wire.RunView
function M.interrupted(client_id, view)
  local run = seen(client_id, view)
  run.status, run.outcome, run.over, run.waiting = 'interrupted', 'interrupted', true, nil
  changed(run)
  if config.get().notify then
    vim.notify(
      ('Outrigger: a run was interrupted: %s  (:Outrigger resume, or cancel)'):format((run.prompt:gsub('\n.*', ''))),
      vim.log.levels.WARN
    )
  end
end

--- A sidecar is there: learn what it knows already.
---@param client vim.lsp.Client
function M.connected(client)
  local function ignore() end
  client_module.request(client, 'outrigger/run/list', vim.empty_dict(), function(result)
    for index = #result.runs, 1, -1 do
      seen(client.id, result.runs[index])
    end
  end, ignore)
  require('outrigger.questions').fetch(client)
  require('outrigger.tasks').refresh(client)
end

--- A sidecar is gone; its runs are parked in their transcripts.
---@param client_id integer
---@param code integer
---@param signal integer
function M.disconnected(client_id, code, signal)
  local unfinished = 0
  for _, run in pairs(runs) do
    if run.client_id == client_id and not run.over then
      unfinished = unfinished + 1
      run.status = 'interrupted'
      run.over = true
      run.outcome = 'interrupted'
      run.waiting = nil
      changed(run)
    end
  end
  require('outrigger.questions').forget(client_id)
  if unfinished > 0 and vim.v.exiting == vim.NIL then
    vim.notify(
      ('Outrigger: the sidecar ended (exit code %d, signal %d) with %d unfinished run%s'):format(
        code,
        signal,
        unfinished,
        unfinished == 1 and '' or 's'
      ),
      vim.log.levels.WARN
    )
  end
end

--- All runs, newest first.
---@return outrigger.Run[]
function M.all()
  local all = {}
  for index = #order, 1, -1 do
    all[#all + 1] = runs[order[index]]
  end
  return all
end

---@return outrigger.Run[]
function M.unfinished()
  return vim.tbl_filter(function(run)
    return not run.over
  end, M.all())
end

---@param id string
---@return outrigger.Run?
function M.get(id)
  return runs[id]
end

---@param prompt string
---@param options { engine: string?, model: string?, policy: table?, budget: table?, selection: table? }
---@param done fun(run_id: string)?
function M.start(prompt, options, done)
  local set = config.get()
  local function start(client)
    client_module.request(client, 'outrigger/run/start', {
      prompt = prompt,
      engine = options.engine or set.engine,
      model = options.model or set.model,
      -- What one call does not say is as configured.
      policy = options.policy and vim.tbl_extend('force', set.policy or {}, options.policy) or set.policy,
      budget = options.budget or set.budget,
    }, function(result)
      local run = known(client.id, result.runId)
      if run.prompt == '' then
        run.prompt = prompt
      end
      changed(run)
      if done then
        done(result.runId)
      end
    end)
  end
  client_module.with(function(client)
    require('outrigger.view').tell(client, options.selection, function()
      start(client)
    end)
  end)
end

---@param run outrigger.Run
---@param done fun(outcome: string)?
function M.cancel(run, done)
  local client = vim.lsp.get_client_by_id(run.client_id)
  if not client then
    return vim.notify('Outrigger: the sidecar of this run is gone', vim.log.levels.WARN)
  end
  client_module.request(client, 'outrigger/run/cancel', { runId = run.id }, function(result)
    if done then
      done(result.outcome)
    end
  end)
end

--- Takes up a run whose process had ended.
---@param run_id string empty: the only one
function M.resume(run_id)
  client_module.with(function(client)
    client_module.request(client, 'workspace/executeCommand', {
      command = 'outrigger.resume',
      arguments = run_id ~= '' and { run_id } or nil,
    })
  end)
end

--- Runs that can be taken up again.
---@return outrigger.Run[]
function M.interrupted_runs()
  return vim.tbl_filter(function(run)
    return run.status == 'interrupted'
  end, M.all())
end

--- A word to a run that is under way.
---@param run outrigger.Run
---@param steer outrigger.wire.Steer
---@param done fun()?
function M.steer(run, steer, done)
  local client = vim.lsp.get_client_by_id(run.client_id)
  if not client then
    return vim.notify('Outrigger: the sidecar of this run is gone', vim.log.levels.WARN)
  end
  client_module.request(client, 'outrigger/run/steer', { runId = run.id, steer = steer }, done)
end

--- For a statusline.
---@return string
function M.statusline()
  local unfinished = M.unfinished()
  local asked = #require('outrigger.questions').open()
  if #unfinished == 0 and asked == 0 then
    return ''
  end
  local parts = {}
  if #unfinished == 1 then
    local run = unfinished[1]
    local what = run.paused and 'paused' or run.status
    if run.waiting and run.waiting['for'] ~= 'you' and run.waiting.detail ~= '' then
      what = what .. ': ' .. run.waiting.detail
    end
    parts[1] = what
  elseif #unfinished > 1 then
    parts[1] = ('%d runs'):format(#unfinished)
  end
  if asked > 0 then
    parts[#parts + 1] = ('%d question%s'):format(asked, asked == 1 and '' or 's')
  end
  return 'outrigger ' .. table.concat(parts, ', ')
end

return M
