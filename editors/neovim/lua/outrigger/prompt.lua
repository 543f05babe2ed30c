--- Asking by `vim.ui.select` and `vim.ui.input`, so that the user's own pickers show the questions.
local questions = require('outrigger.questions')

local M = {}

---@class outrigger.prompt.Item
---@field label string
---@field effect string?
---@field take fun()

--- A prompt for a question. It is closed when the question is resolved elsewhere, and then answers nothing.
---@param id string
---@param show fun(done: fun(...))
---@param done fun(...)
local function prompt(id, show, done)
  local name = 'prompt'
  local finished, blocking = false, true
  local before = {}
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    before[window] = true
  end
  local own = {}
  questions.view(id, name, function()
    if finished then
      return
    end
    finished = true
    if blocking then
      -- Neovim's own prompt waits for keys inside vim.ui; Escape leaves it without a choice.
      vim.api.nvim_input('<Esc>')
      return
    end
    for _, window in ipairs(own) do
      if vim.api.nvim_win_is_valid(window) then
        pcall(vim.api.nvim_win_close, window, true)
      end
    end
  end)
  show(function(...)
    if finished then
      return
    end
    finished = true
    questions.view(id, name, nil)
    done(...)
  end)
  blocking = false
  if not finished then
    -- A picker with windows of its own: those that have come since.
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if not before[window] then
        own[#own + 1] = window
      end
    end
  end
end

---@param id string
---@param text string
---@param done fun(text: string)
local function input(id, text, done)
  prompt(id, function(finish)
    vim.ui.input({ prompt = text .. ' ' }, finish)
  end, function(answer)
    if answer and vim.trim(answer) ~= '' then
      done(answer)
    end
  end)
end

---@param id string
---@param text string
---@param items outrigger.prompt.Item[]
local function select(id, text, items)
  prompt(id, function(finish)
    vim.ui.select(items, {
      prompt = text,
      kind = 'outrigger.question',
      format_item = function(item)
        return item.effect and item.effect ~= '' and ('%s (%s)'):format(item.label, item.effect) or item.label
      end,
    }, finish)
  end, function(item)
    if item then
      item.take()
    end
  end)
end

--- A hunk in a few lines: enough to decide.
---@param hunk table
---@param count integer
local function describe(hunk, count)
  local text = { ('Change %d of %d, at line %d'):format(hunk.id + 1, count, hunk.oldStart + 1) }
  local function add(sign, lines)
    for index, line in ipairs(lines) do
      if index > 8 then
        text[#text + 1] = ('%s … %d more'):format(sign, #lines - 8)
        break
      end
      text[#text + 1] = sign .. ' ' .. line:gsub('\r?\n$', '')
    end
  end
  add('-', hunk.removed)
  add('+', hunk.added)
  return table.concat(text, '\n')
end

--- Goes through the hunks one by one; answers when all are decided.
---@param question table
---@param index integer
---@param taken integer[]
local function choose_hunks(question, index, taken)
  local hunks = question.kind.hunks
  local function finish()
    if #taken == 0 then
      questions.answer(question.id, { type = 'keepMine' })
    elseif #taken == #hunks then
      questions.answer(question.id, { type = 'takeAll' })
    else
      questions.answer(question.id, { type = 'takeHunks', hunks = taken })
    end
  end
  local hunk = hunks[index]
  if not hunk then
    return finish()
  end
  local function take()
    taken[#taken + 1] = hunk.id
  end
  select(question.id, describe(hunk, #hunks), {
    {
      label = 'Take it',
      take = function()
        take()
        choose_hunks(question, index + 1, taken)
      end,
    },
    {
      label = 'Leave mine here',
      take = function()
        choose_hunks(question, index + 1, taken)
      end,
    },
    {
      label = 'Take this and all after it',
      take = function()
        for later = index, #hunks do
          taken[#taken + 1] = hunks[later].id
        end
        finish()
      end,
    },
    { label = 'Leave mine here and in all after it', take = finish },
  })
end

---@param question table
---@return outrigger.prompt.Item[]
local function overwrite_items(question)
  local id = question.id
  local function send(answer)
    return function()
      questions.answer(id, answer)
    end
  end
  local items = {
    {
      label = 'Show the difference',
      effect = 'a tab with yours and the proposal; nothing is decided yet',
      take = function()
        require('outrigger.diff').open(id)
      end,
    },
    { label = 'Take all', effect = 'the file becomes the proposal', take = send({ type = 'takeAll' }) },
  }
  if #question.kind.hunks > 1 then
    items[#items + 1] = {
      label = 'Choose change by change',
      take = function()
        choose_hunks(question, 1, {})
      end,
    }
  end
  for _, choice in ipairs(question.choices or {}) do
    -- The other choices of an overwrite have an answer of their own here.
    if not vim.list_contains({ 'takeAll', 'keepMine', 'stopRun' }, choice.id) then
      items[#items + 1] = {
        label = choice.label,
        effect = choice.effect,
        take = send({ type = 'choice', choice = choice.id }),
      }
    end
  end
  vim.list_extend(items, {
    { label = 'Keep mine', effect = 'nothing is written', take = send({ type = 'keepMine' }) },
    {
      label = 'Keep mine and say why',
      effect = 'the agent reads it',
      take = function()
        input(id, 'Why?', function(reason)
          questions.answer(id, { type = 'keepMine', reason = reason })
        end)
      end,
    },
    { label = 'Stop the run', effect = 'what it has written stays', take = send({ type = 'stopRun' }) },
  })
  return items
end

---@param question table
---@return outrigger.prompt.Item[]
local function choice_items(question)
  local items = {}
  for _, choice in ipairs(question.choices or {}) do
    items[#items + 1] = {
      label = choice.label,
      effect = choice.effect,
      take = function()
        questions.answer(question.id, { type = 'choice', choice = choice.id })
      end,
    }
  end
  if question.freeText then
    -- Before the way out, which stays last.
    table.insert(items, math.max(#items, 1), {
      label = 'Answer in your own words',
      take = function()
        input(question.id, question.title, function(text)
          questions.answer(question.id, { type = 'text', text = text })
        end)
      end,
    })
  end
  return items
end

---@param question table
---@return outrigger.prompt.Item[]
local function plan_items(question)
  local items = choice_items(question)
  table.insert(items, 1, {
    label = 'Show the plan',
    effect = 'a text to read and change; nothing is decided yet',
    take = function()
      require('outrigger.plan').open(question.id)
    end,
  })
  return items
end

---@type table<string, fun(question: table): outrigger.prompt.Item[]>
local items_of = { overwrite = overwrite_items, plan = plan_items }

--- Shows a question's answers; choosing none leaves it open.
---@param id string
function M.ask(id)
  local question = questions.get(id)
  if not question then
    vim.notify(('Outrigger: question %s is not open any more'):format(id), vim.log.levels.WARN)
    return
  end
  local text = questions.headline(question)
  if question.detail and question.detail ~= '' then
    text = text .. '\n' .. question.detail
  end
  select(id, text, (items_of[questions.kind_of(question)] or choice_items)(question))
end

return M
