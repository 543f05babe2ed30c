--- Tasks: what shall be done, kept by the sidecar until a run has done it.
local client_module = require('outrigger.client')
local runs = require('outrigger.runs')

local M = {}

---@type table<integer, outrigger.wire.Task[]> by client
local known = {}
---@type table<string, fun()>
local listeners = {}
---@type table<integer, boolean> clients that are being asked
local asking = {}

--- Called after each change of the list, by name so that a listener can be replaced.
---@param name string
---@param listener fun()?
function M.listen(name, listener)
  listeners[name] = listener
end

--- The tasks of a client's workspace as last heard, in the order in which they were made.
---@param client_id integer
---@return outrigger.wire.Task[]
function M.all(client_id)
  return known[client_id] or {}
end

--- Asks for the list again.
---@param client vim.lsp.Client
---@param done fun(tasks: outrigger.wire.Task[])?
function M.refresh(client, done)
  if not client_module.offers(client, 'outrigger/task/list') then
    return done and done({})
  end
  client_module.request(client, 'outrigger/task/list', vim.empty_dict(), function(result)
    known[client.id] = result.tasks
    for _, listener in pairs(listeners) do
      listener()
    end
    if done then
      done(result.tasks)
    end
  end, done and nil or function() end)
end

--- Where a task stands follows its runs.
runs.listen('tasks', function(run, record)
  local client = vim.lsp.get_client_by_id(run.client_id)
  local kind = record and record.event.type
  if not client or asking[client.id] or not (kind == 'runStarted' or kind == 'statusChanged' or kind == 'ended') then
    return
  end
  asking[client.id] = true
  vim.defer_fn(function()
    asking[client.id] = nil
    if not client:is_stopped() then
      M.refresh(client)
    end
  end, 100)
end)

---@param client vim.lsp.Client
---@param method string
---@param params table
---@param done fun(result: table)?
local function change(client, method, params, done)
  client_module.request(client, method, params, function(result)
    M.refresh(client, function()
      if done then
        done(result)
      end
    end)
  end)
end

--- Makes a task of words, of a range of the current buffer, or of the diagnostic there.
---@param text string
---@param origin outrigger.wire.TaskOrigin?
---@param done fun(task: outrigger.wire.Task)?
function M.add(text, origin, done)
  client_module.with(function(client)
    change(client, 'outrigger/task/add', { description = text, origin = origin }, function(result)
      vim.notify(('Outrigger: task %s: %s'):format(result.task.id, result.task.title))
      if done then
        done(result.task)
      end
    end)
  end)
end

--- Makes tasks of a list in a file, unsaved text included.
---@param file string
function M.import(file)
  client_module.with(function(client)
    local buffer = vim.fn.bufnr('^' .. vim.fn.escape(vim.fn.fnamemodify(file, ':p'), '[]*?\\') .. '$')
    local text
    if buffer ~= -1 and vim.api.nvim_buf_is_loaded(buffer) then
      local edit = require('outrigger.edit')
      text = edit.joined(edit.text_of(buffer))
    else
      local ok, lines = pcall(vim.fn.readblob, file)
      if not ok then
        return vim.notify(('Outrigger: cannot read %s'):format(file), vim.log.levels.ERROR)
      end
      text = lines
    end
    change(client, 'outrigger/task/import', { text = text, file = vim.fn.fnamemodify(file, ':t') }, function(result)
      vim.notify(('Outrigger: %d tasks made, %d were done already'):format(#result.tasks, result.alreadyDone or 0))
    end)
  end)
end

---@param client vim.lsp.Client
---@param task outrigger.wire.Task
---@param state outrigger.wire.TaskState
function M.move(client, task, state)
  change(client, 'outrigger/task/edit', { taskId = task.id, state = state })
end

--- Starts a run of a task.
---@param client vim.lsp.Client
---@param task outrigger.wire.Task
---@param done fun(run_id: string)?
function M.start(client, task, done)
  require('outrigger.view').tell(client, nil, function()
    local set = require('outrigger.config').get()
    change(client, 'outrigger/task/start', {
      taskId = task.id,
      engine = not (task.settings and task.settings.engine) and set.engine or nil,
      model = not (task.settings and task.settings.model) and set.model or nil,
      policy = set.policy,
      budget = not (task.settings and task.settings.budget) and set.budget or nil,
    }, function(result)
      if done then
        done(result.runId)
      end
    end)
  end)
end

--- One line: which, where it stands, what.
---@param task outrigger.wire.Task
---@return string
function M.headline(task)
  local place = task.origin
      and task.origin.path
      and (' (%s:%d)'):format(task.origin.path, task.origin.line or task.origin.firstLine or 1)
    or ''
  return ('%s  %s  %s%s'):format(task.id, task.state, task.title, place)
end

return M
