--- Questions: what is open, how it is shown, and sending what the user answers.
---
--- The first answer wins, wherever it is given; every view of the question is then closed. Closing a view is no answer.
local client_module = require('outrigger.client')
local config = require('outrigger.config')

local M = {}

---@type table<string, { question: outrigger.wire.Question, client_id: integer }>
local open = {}
---@type table<string, table<string, fun()>> by question and view: closes the view
local views = {}
---@type table<string, fun()>
local listeners = {}

---@param name string
---@param listener fun()?
function M.listen(name, listener)
  listeners[name] = listener
end

local function changed()
  for _, listener in pairs(listeners) do
    listener()
  end
end

--- Open questions, oldest first.
---@return outrigger.wire.Question[]
function M.open()
  local list = {}
  for _, entry in pairs(open) do
    list[#list + 1] = entry.question
  end
  table.sort(list, function(a, b)
    if a.openedAt ~= b.openedAt then
      return a.openedAt < b.openedAt
    end
    return a.id < b.id
  end)
  return list
end

---@param id string
---@return outrigger.wire.Question? question
---@return vim.lsp.Client? client
function M.get(id)
  local entry = open[id]
  if entry then
    return entry.question, vim.lsp.get_client_by_id(entry.client_id)
  end
end

--- A view of a question is open; `close` is called when the question is resolved.
---@param id string
---@param name string
---@param close fun()?
function M.view(id, name, close)
  views[id] = views[id] or {}
  views[id][name] = close
end

---@param question outrigger.wire.Question
---@return string
function M.kind_of(question)
  return question.kind.kind
end

--- One line: where and what.
---@param question table
function M.headline(question)
  local where = ''
  if M.kind_of(question) == 'overwrite' then
    where = question.kind.path .. ': '
  elseif question.place then
    where = ('%s:%d: '):format(question.place.path, question.place.range.start.line + 1)
  end
  return where .. question.title
end

--- Opens the prompt once the user is idle in Normal mode, so that no key they are typing becomes an answer.
---@param id string
local function prompt_when_idle(id)
  local idle_ms = config.get().idle_ms
  local last_key = vim.uv.now()
  local namespace = vim.on_key(function()
    last_key = vim.uv.now()
  end)
  local timer = assert(vim.uv.new_timer())
  local function stop()
    vim.on_key(nil, namespace)
    if not timer:is_closing() then
      timer:close()
    end
  end
  timer:start(
    idle_ms,
    100,
    vim.schedule_wrap(function()
      if timer:is_closing() then
        return
      elseif not open[id] then
        return stop()
      end
      local mode = vim.api.nvim_get_mode()
      vim.uv.update_time()
      if
        mode.mode == 'n'
        and not mode.blocking
        and vim.uv.now() - last_key >= idle_ms
        and vim.fn.getcmdwintype() == ''
      then
        stop()
        require('outrigger.prompt').ask(id)
      end
    end)
  )
end

---@param client_id integer
---@param question table
function M.opened(client_id, question)
  if open[question.id] then
    return
  end
  open[question.id] = { question = question, client_id = client_id }
  require('outrigger.inline').draw()
  changed()
  if config.get().notify then
    vim.notify(('Outrigger asks: %s  (:Outrigger answer)'):format(M.headline(question)), vim.log.levels.WARN)
  end
  if config.get().prompt then
    prompt_when_idle(question.id)
  end
end

--- Answered anywhere, or withdrawn.
---@param id string
---@param state table?
function M.resolved(id, state)
  local entry = open[id]
  if not entry then
    return
  end
  open[id] = nil
  local closers = views[id] or {}
  views[id] = nil
  -- Whether the user was looking at it; the text at its place is always there.
  local seen = next(vim.tbl_filter(function(name)
    return name ~= 'inline'
  end, vim.tbl_keys(closers)))
  for _, close in pairs(closers) do
    close()
  end
  changed()
  if state and state.state == 'answered' and state.by ~= 'Neovim' and config.get().notify and seen then
    vim.notify(('Outrigger: %s was answered by %s'):format(M.headline(entry.question), state.by))
  end
end

--- Asks a sidecar for the questions that were open before this Neovim came.
---@param client vim.lsp.Client
function M.fetch(client)
  client_module.request(client, 'outrigger/question/list', vim.empty_dict(), function(result)
    for _, question in ipairs(result.questions) do
      if question.state.state == 'open' then
        M.opened(client.id, question)
      end
    end
  end, function() end)
end

---@param client_id integer
function M.forget(client_id)
  for id, entry in pairs(open) do
    if entry.client_id == client_id then
      M.resolved(id)
    end
  end
end

--- Sends an answer.
---@param id string
---@param answer outrigger.wire.Answer
---@param done fun()?
---@param failed fun(err: table)? otherwise the error is told to the user
function M.answer(id, answer, done, failed)
  local question, client = M.get(id)
  if not question or not client then
    vim.notify(('Outrigger: question %s is not open any more'):format(id), vim.log.levels.WARN)
    return
  end
  client_module.request(client, 'outrigger/question/answer', { questionId = id, answer = answer }, function()
    if done then
      done()
    end
  end, failed)
end

--- Goes to the place of a question.
---@param question table
function M.go_to(question)
  local _, client = M.get(question.id)
  local place = question.place
  local path = place and place.path or question.kind.path
  if not client or not path then
    return
  end
  local buffer = vim.fn.bufadd(client_module.absolute(client, path))
  vim.bo[buffer].buflisted = true
  -- Whatever is shown now stays loaded, saved or not.
  vim.cmd({ cmd = 'buffer', args = { tostring(buffer) }, mods = { hide = true } })
  local start = place and place.range.start
  if start then
    local row = math.min(start.line + 1, vim.api.nvim_buf_line_count(0))
    vim.api.nvim_win_set_cursor(0, { row, start.utf8 })
  end
end

return M
