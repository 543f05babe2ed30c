--- A plan that a run asks about, as a text to be read and changed before it is followed.
---
--- As with a diff, nothing but a command decides: neither :write nor :quit, and a closed plan can be opened again as it was.
local questions = require('outrigger.questions')

local M = {}

---@type table<string, { buffer: integer, document: string, sent: boolean }> by question
local plans = {}

---@param buffer integer
local function text_of(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), '\n') .. '\n'
end

--- The question is resolved: the view goes, but a plan that the user has changed stays readable.
---@param id string
local function close(id)
  local plan = plans[id]
  plans[id] = nil
  if not plan or not vim.api.nvim_buf_is_valid(plan.buffer) then
    return
  end
  if not plan.sent and text_of(plan.buffer) ~= plan.document then
    vim.bo[plan.buffer].buflisted = true
    vim.notify(('Outrigger: your plan is kept in buffer %d'):format(plan.buffer), vim.log.levels.WARN)
    return
  end
  vim.api.nvim_buf_delete(plan.buffer, { force = true })
end

---@param id string
---@param document string
---@return integer buffer
local function make(id, document)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_name(buffer, ('outrigger://%s/plan'):format(id))
  vim.bo[buffer].bufhidden = 'hide'
  vim.bo[buffer].swapfile = false
  local undolevels = vim.bo[buffer].undolevels
  vim.bo[buffer].undolevels = -1
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split((document:gsub('\n$', '')), '\n', { plain = true }))
  vim.bo[buffer].undolevels = undolevels
  vim.bo[buffer].modified = false
  vim.bo[buffer].filetype = 'markdown'
  vim.keymap.set('n', '<LocalLeader>a', M.accept, { buffer = buffer, desc = 'Outrigger: follow this plan' })
  vim.keymap.set('n', 'g?', function()
    vim.notify(table.concat({
      'These steps will be done; change them as you like.',
      ':Outrigger accept   follow the plan as it stands here   (also <LocalLeader>a)',
      ':Outrigger answer   have it planned again, or stop the run',
      'Closing the window decides nothing.',
    }, '\n'))
  end, { buffer = buffer, desc = 'Outrigger: keys of this plan' })
  return buffer
end

--- Opens the plan of a question, or goes to it where it is open.
---@param id string
function M.open(id)
  local question = questions.get(id)
  if not question then
    return vim.notify(('Outrigger: question %s is not open any more'):format(id), vim.log.levels.WARN)
  elseif questions.kind_of(question) ~= 'plan' then
    return vim.notify('Outrigger: this question is about no plan; use :Outrigger answer', vim.log.levels.WARN)
  end
  local plan = plans[id]
  if not plan or not vim.api.nvim_buf_is_valid(plan.buffer) then
    local document = question.kind.document
    plan = { buffer = make(id, document), document = '', sent = false }
    plan.document = text_of(plan.buffer)
    plans[id] = plan
    questions.view(id, 'plan', function()
      close(id)
    end)
  end
  local window = vim.iter(vim.api.nvim_tabpage_list_wins(0)):find(function(window)
    return vim.api.nvim_win_get_buf(window) == plan.buffer
  end)
  if window then
    return vim.api.nvim_set_current_win(window)
  end
  vim.cmd({ cmd = 'sbuffer', args = { tostring(plan.buffer) }, mods = { keepalt = true, split = 'botright' } })
  vim.wo[0][0].winbar = ' plan · :Outrigger accept follows it · g? keys '
end

--- Whether the current buffer is a plan.
---@return string? id
function M.here()
  local buffer = vim.api.nvim_get_current_buf()
  for id, plan in pairs(plans) do
    if plan.buffer == buffer then
      return id
    end
  end
end

--- Answers that the plan of the current buffer is followed, as it stands there.
function M.accept()
  local id = M.here()
  if not id then
    return vim.notify('Outrigger: this buffer is no plan; use :Outrigger plan', vim.log.levels.WARN)
  end
  local plan = plans[id]
  local text = text_of(plan.buffer)
  plan.sent = true
  local answer = text == plan.document and { type = 'takeAll' } or { type = 'takeText', text = text }
  questions.answer(id, answer, nil, function(err)
    plan.sent = false
    require('outrigger.client').tell(err)
  end)
end

return M
