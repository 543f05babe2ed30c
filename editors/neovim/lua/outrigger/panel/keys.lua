--- The keys of the panel: what each does with the line that the cursor is on.
local questions = require('outrigger.questions')
local runs = require('outrigger.runs')
local tasks = require('outrigger.tasks')

local M = {}

--- Gives the line of the cursor; set by `map`.
---@type fun(): outrigger.panel.Line?
local line_here

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
    'show the difference, or the plan that is asked about',
    function()
      local question = question_here()
      if question and questions.kind_of(question) == 'plan' then
        require('outrigger.plan').open(question.id)
      elseif question then
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
    'S',
    'start a run of the task',
    function()
      local line = line_here()
      if line and line.task then
        tasks.start(line.client, line.task)
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
      local client = line and line.run and vim.lsp.get_client_by_id(line.run.client_id)
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
      require('outrigger.panel').close()
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

---@param buffer integer
---@param line fun(): outrigger.panel.Line?
function M.map(buffer, line)
  line_here = line
  for _, key in ipairs(keys) do
    vim.keymap.set('n', key[1], key[3], { buffer = buffer, nowait = true, desc = 'Outrigger: ' .. key[2] })
  end
  vim.keymap.set('n', '?', show_keys, { buffer = buffer, nowait = true, desc = 'Outrigger: show the keys' })
end

return M
