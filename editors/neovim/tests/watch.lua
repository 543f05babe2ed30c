--- What a user's own configuration sees of a run, and a user's ways to act on it.
local t = require('harness')

local M = {
  --- Everything that happened since `reset`.
  seen = { events = {}, progress = {}, messages = {}, changed_on_disk = {} },
}

local seen = M.seen

vim.api.nvim_create_autocmd('User', {
  pattern = 'OutriggerEvent',
  callback = function(event)
    table.insert(seen.events, event.data)
  end,
})
vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event)
    table.insert(seen.progress, event.data.params)
  end,
})
vim.api.nvim_create_autocmd('FileChangedShell', {
  callback = function(event)
    table.insert(seen.changed_on_disk, event.file)
  end,
})
vim.notify = function(text)
  table.insert(seen.messages, text)
end

function M.reset()
  seen.events, seen.progress, seen.messages, seen.changed_on_disk = {}, {}, {}, {}
  vim.cmd('messages clear')
end

--- The recorded events of a type.
---@param kind string
---@return table[]
function M.recorded(kind)
  local found = {}
  for _, event in ipairs(seen.events) do
    if event.method == 'outrigger/run/event' and event.params.record.event.type == kind then
      found[#found + 1] = event.params.record.event
    end
  end
  return found
end

--- Questions that were seen, so that a new one is told from one whose answer is still on its way.
local known_questions = {}

local function new_question()
  return vim.iter(require('outrigger').questions()):find(function(question)
    return not known_questions[question.id]
  end)
end

--- How the run ended.
---@return string outcome
---@return table summary
function M.ended()
  local event = t.wait('the end of the run; messages: ' .. vim.inspect(seen.messages), function()
    local question = new_question()
    if question then
      error('the run asks instead of ending: ' .. vim.inspect(question))
    end
    return M.recorded('ended')[1]
  end, 60000)
  return event.outcome, event.summary
end

--- The next question.
---@return table
function M.asked()
  local question = t.wait('a question; messages: ' .. vim.inspect(seen.messages), function()
    if M.recorded('ended')[1] then
      error('the run ended instead: ' .. vim.inspect(M.recorded('ended')[1]))
    end
    return new_question()
  end, 60000)
  known_questions[question.id] = true
  return question
end

--- Answers each `vim.ui.select` and `vim.ui.input` of `body` in order, and gives what was offered.
---@param picks string[] parts of labels, and what is typed
---@param body fun()
---@return { prompt: string, labels: string[] }[]
function M.answering(picks, body)
  local offered = {}
  t.with(vim.ui, 'select', function(items, options, done)
    local labels = vim.tbl_map(options.format_item or tostring, items)
    table.insert(offered, { prompt = options.prompt, labels = labels })
    local wanted = table.remove(picks, 1)
    for index, label in ipairs(labels) do
      if label:find(wanted, 1, true) then
        return done(items[index], index)
      end
    end
    error(('%q is not offered: %s'):format(wanted, vim.inspect(labels)))
  end, function()
    t.with(vim.ui, 'input', function(_, done)
      done(table.remove(picks, 1))
    end, body)
  end)
  return offered
end

--- The buffer's text, as its lines have it.
---@param buffer integer
function M.text(buffer)
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), '\n') .. '\n'
end

--- Types like a person, in the current window.
---@param keys string
function M.type_keys(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), 'xt', false)
end

--- Nothing may ask about files that changed on disk, neither up to now nor when Neovim looks.
function M.no_file_changed_on_disk()
  vim.cmd('checktime')
  t.equal({}, seen.changed_on_disk, 'files that Neovim says have changed on disk')
  local messages = vim.api.nvim_exec2('messages', { output = true }).output
  t.equal(nil, messages:match('W1[1-6][^\n]*'), 'warnings')
end

return M
