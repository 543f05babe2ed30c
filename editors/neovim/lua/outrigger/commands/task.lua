--- `:Outrigger task`: making tasks, and saying where they stand.
local shared = require('outrigger.commands.shared')

local M = {}

--- What of `:Outrigger task …` can be done with a task that is there.
---@type table<string, { states: string[], run: fun(client: vim.lsp.Client, task: outrigger.wire.Task) }>
local task_moves = {
  start = {
    states = { 'ready', 'backlog', 'failed', 'blocked' },
    run = function(client, task)
      require('outrigger.tasks').start(client, task)
    end,
  },
  ready = {
    states = { 'backlog', 'failed' },
    run = function(client, task)
      require('outrigger.tasks').move(client, task, 'ready')
    end,
  },
  done = {
    states = { 'backlog', 'ready', 'failed', 'blocked' },
    run = function(client, task)
      require('outrigger.tasks').move(client, task, 'done')
    end,
  },
  backlog = {
    states = { 'ready', 'failed', 'blocked', 'done' },
    run = function(client, task)
      require('outrigger.tasks').move(client, task, 'backlog')
    end,
  },
}

--- Where a task comes from: the range, the diagnostic under the cursor with a bang, else words alone.
---@param command table
---@return outrigger.wire.TaskOrigin?
local function origin(command)
  local client = require('outrigger.client').current()
  local file = vim.api.nvim_buf_get_name(0)
  if not client or file == '' or vim.bo.buftype ~= '' then
    return nil
  end
  local path = require('outrigger.client').relative(client, file)
  if command.bang then
    local diagnostic = shared.diagnostics_at(command)[1]
    return diagnostic
      and {
        type = 'diagnostic',
        path = path,
        line = diagnostic.lnum + 1,
        source = diagnostic.source,
        code = diagnostic.code and tostring(diagnostic.code) or nil,
        message = diagnostic.message,
      }
  elseif command.range > 0 then
    return { type = 'selection', path = path, firstLine = command.line1, lastLine = command.line2, text = '' }
  end
end

---@param name string
---@param id string
local function move_task(name, id)
  local tasks = require('outrigger.tasks')
  require('outrigger.client').with(function(client)
    tasks.refresh(client, function(all)
      local move = task_moves[name]
      local fitting = vim.tbl_filter(function(task)
        return vim.list_contains(move.states, task.state)
      end, all)
      -- A task that is named is tried wherever it stands: the sidecar says best why it cannot be done.
      shared.pick(id ~= '' and all or fitting, id, {
        none = 'there is no such task',
        prompt = ('Which task? (%s)'):format(name),
        format = tasks.headline,
      }, function(task)
        move.run(client, task)
      end)
    end)
  end)
end

---@param arguments string
---@param command table
function M.run(arguments, command)
  local name, rest = arguments:match('^(%S+)%s*(.-)%s*$')
  local tasks = require('outrigger.tasks')
  if name == 'add' then
    local from = origin(command)
    if command.bang and not from then
      return shared.warn('there is no diagnostic on this line')
    elseif rest ~= '' or from then
      return tasks.add(rest, from)
    end
    return vim.ui.input({ prompt = 'Task: ' }, function(text)
      if text and vim.trim(text) ~= '' then
        tasks.add(text)
      end
    end)
  elseif name == 'import' then
    return tasks.import(rest ~= '' and rest or vim.api.nvim_buf_get_name(0))
  elseif task_moves[name] then
    return move_task(name, rest)
  end
  shared.warn('use :Outrigger task add, import, start, ready, done or backlog')
end

---@param lead string
---@param before string
---@return string[]
function M.complete(lead, before)
  local name = before:match('task%s+(%S+)%s')
  if not name then
    return vim.list_extend({ 'add', 'import' }, vim.tbl_keys(task_moves))
  elseif name == 'import' then
    return vim.fn.getcompletion(lead, 'file')
  end
  local client = require('outrigger.client').current()
  return task_moves[name] and client and shared.ids(require('outrigger.tasks').all(client.id)) or {}
end

return M
