--- `:Outrigger …`: one table of subcommands, each with what it does and what completes it.
local M = {}

---@class outrigger.Subcommand
---@field run fun(arguments: string, command: table)
---@field complete (fun(lead: string, before: string): string[])?

local function warn(text)
  vim.notify('Outrigger: ' .. text, vim.log.levels.WARN)
end

--- Lets the user pick, unless there is only one or an id says which.
---@generic T
---@param items T[]
---@param id string
---@param texts { none: string, prompt: string, format: fun(item: T): string }
---@param done fun(item: T)
local function pick(items, id, texts, done)
  if id ~= '' then
    for _, item in ipairs(items) do
      if item.id == id then
        return done(item)
      end
    end
    return warn(('%s: %s'):format(texts.none, id))
  elseif #items == 0 then
    return warn(texts.none)
  elseif #items == 1 then
    return done(items[1])
  end
  vim.ui.select(items, { prompt = texts.prompt, format_item = texts.format }, function(item)
    if item then
      done(item)
    end
  end)
end

local function ids(items)
  return vim.tbl_map(function(item)
    return item.id
  end, items)
end

--- The text of a range, with where it is from, for the prompt.
---@param command { line1: integer, line2: integer }
---@return string
local function selection(command)
  local buffer = vim.api.nvim_get_current_buf()
  local lines = vim.api.nvim_buf_get_lines(buffer, command.line1 - 1, command.line2, true)
  local place = ('lines %d-%d'):format(command.line1, command.line2)
  local first, last = vim.fn.getpos("'<"), vim.fn.getpos("'>")
  -- The last visual selection, if that is what the range came from: its characters, not its whole lines.
  if vim.fn.visualmode() == 'v' and first[2] == command.line1 and last[2] == command.line2 then
    local ok, region = pcall(vim.fn.getregion, first, last, { type = 'v' })
    if ok and #region > 0 then
      lines = region
    end
  end
  local client = require('outrigger.client').current(buffer)
  local file = vim.api.nvim_buf_get_name(buffer)
  if file ~= '' then
    file = client and require('outrigger.client').relative(client, file) or vim.fn.fnamemodify(file, ':.')
  else
    file = 'a buffer without a file'
  end
  local fence = '```'
  while vim.iter(lines):any(function(line)
    return line:find(fence, 1, true) ~= nil
  end) do
    fence = fence .. '`'
  end
  return ('\n\nFrom %s, %s:\n%s%s\n%s\n%s'):format(
    file,
    place,
    fence,
    vim.bo[buffer].filetype,
    table.concat(lines, '\n'),
    fence
  )
end

--- Leading `++name=value` words, as Vim's own commands have them.
---@param arguments string
---@return table<string, string> options
---@return string rest
local function plus_options(arguments)
  local options = {}
  while true do
    local name, value, rest = arguments:match('^%s*%+%+(%a+)=(%S+)%s*(.*)$')
    if not name then
      return options, arguments
    end
    options[name] = value
    arguments = rest
  end
end

local conflict_policies = { 'ask', 'edit', 'overwrite', 'fail' }
local command_policies = { 'ask', 'allow', 'deny' }

--- What `++model=` can be: models that need no question over the net to be known, and scripts.
---@param lead string
---@return string[]
local function models(lead)
  local script = lead:match('^%+%+model=scripted:(.*)')
  if script then
    return vim.tbl_map(function(file)
      return '++model=scripted:' .. file
    end, vim.fn.getcompletion(script, 'file'))
  end
  local names = { '++model=scripted:' }
  local client = require('outrigger.client').current()
  local answer = client and client:request_sync('outrigger/models/list', { offline = true }, 2000)
  for _, provider in ipairs(answer and answer.result and answer.result.providers or {}) do
    for _, model in ipairs(provider.models) do
      names[#names + 1] = '++model=' .. model.name
    end
  end
  return names
end

local function run(arguments, command)
  local options, prompt = plus_options(arguments)
  local policy = {}
  for name, value in pairs(options) do
    if name == 'conflict' or name == 'commands' then
      policy[name] = value
    elseif name ~= 'model' then
      return warn(('there is no option ++%s; there are ++model, ++conflict and ++commands'):format(name))
    end
  end
  local function start(text)
    if not text or vim.trim(text) == '' then
      return
    end
    if command.range > 0 then
      text = text .. selection(command)
    end
    require('outrigger.runs').start(text, {
      model = options.model,
      policy = next(policy) and policy or nil,
    })
  end
  if vim.trim(prompt) ~= '' then
    return start(prompt)
  end
  vim.ui.input({ prompt = 'Outrigger, do: ' }, start)
end

--- A run by its id, also one of an earlier process that this Neovim has not been told of; else the user picks.
---@param id string
---@param none string
---@param prompt string
---@param done fun(run: { id: string, prompt: string, client_id: integer }, client: vim.lsp.Client)
local function any_run(id, none, prompt, done)
  local runs = require('outrigger.runs')
  require('outrigger.client').with(function(client)
    if id ~= '' and not runs.get(id) then
      return done({ id = id, prompt = '', client_id = client.id }, client)
    end
    pick(id == '' and vim.list_slice(runs.all(), 1, 1) or runs.all(), id, {
      none = none,
      prompt = prompt,
      format = function(item)
        return item.id
      end,
    }, function(item)
      done(item, vim.lsp.get_client_by_id(item.client_id) or client)
    end)
  end)
end

--- `[run] rest`: the run that the first word names, else the only one that is going on.
---@param arguments string
---@param prompt string
---@param done fun(run: outrigger.Run, rest: string)
local function working_run(arguments, prompt, done)
  local runs = require('outrigger.runs')
  local first, rest = arguments:match('^(%S+)%s*(.*)$')
  local named = first and runs.get(first)
  pick(runs.unfinished(), named and first or '', {
    none = 'no such run is going on',
    prompt = prompt,
    format = function(item)
      return ('%s  %s  %s'):format(item.id, item.status, (item.prompt:gsub('\n.*', '')))
    end,
  }, function(item)
    done(item, named and rest or arguments)
  end)
end

local function working_ids()
  return vim.tbl_map(function(item)
    return item.id
  end, require('outrigger.runs').unfinished())
end

--- Diagnostics that the cursor is on, else those of its line; of a range, all that touch it.
---@param command { range: integer, line1: integer, line2: integer }
---@return vim.Diagnostic[]
local function diagnostics_at(command)
  local cursor = vim.api.nvim_win_get_cursor(0)
  local first = command.range > 0 and command.line1 or cursor[1]
  local last = command.range > 0 and command.line2 or cursor[1]
  local found = vim.tbl_filter(function(diagnostic)
    return diagnostic.source ~= 'outrigger' and diagnostic.lnum + 1 <= last and diagnostic.end_lnum + 1 >= first
  end, vim.diagnostic.get(0))
  if command.range > 0 then
    return found
  end
  local row, column = cursor[1] - 1, cursor[2]
  local under = vim.tbl_filter(function(diagnostic)
    local from_here = diagnostic.lnum < row or diagnostic.col <= column
    local to_here = diagnostic.end_lnum > row or diagnostic.end_col > column
    return from_here and to_here
  end, found)
  return #under > 0 and under or found
end

local function run_line(item)
  return ('%s  %s  %s'):format(item.id, item.status, (item.prompt:gsub('\n.*', '')))
end

---@type table<string, outrigger.Subcommand>
M.subcommands = {
  run = {
    run = run,
    complete = function(lead, before)
      if lead:match('^%+%+conflict=') or lead:match('^%+%+commands=') then
        local name = lead:match('^(%+%+%a+=)')
        local values = name == '++conflict=' and conflict_policies or command_policies
        return vim.tbl_map(function(value)
          return name .. value
        end, values)
      elseif lead:match('^%+%+model=') then
        return models(lead)
      elseif lead:sub(1, 1) == '+' and not before:match('%s[^%s+]%S*%s*$') then
        return { '++model=', '++conflict=', '++commands=' }
      end
      return {}
    end,
  },
  cancel = {
    run = function(arguments)
      local runs = require('outrigger.runs')
      local candidates = runs.unfinished()
      if arguments ~= '' or #candidates == 0 then
        -- One that an earlier process left is given up.
        vim.list_extend(candidates, runs.interrupted_runs())
      end
      pick(candidates, arguments, {
        none = 'no such run is going on',
        prompt = 'Cancel which run?',
        format = run_line,
      }, function(item)
        runs.cancel(item)
      end)
    end,
    complete = function()
      return ids(require('outrigger.runs').unfinished())
    end,
  },
  resume = {
    run = function(arguments)
      local runs = require('outrigger.runs')
      local interrupted = runs.interrupted_runs()
      if arguments ~= '' or #interrupted < 2 then
        return runs.resume(arguments ~= '' and arguments or interrupted[1] and interrupted[1].id or '')
      end
      pick(interrupted, '', {
        none = 'no run was interrupted',
        prompt = 'Resume which run?',
        format = run_line,
      }, function(item)
        runs.resume(item.id)
      end)
    end,
    complete = function()
      return ids(require('outrigger.runs').interrupted_runs())
    end,
  },
  steer = {
    run = function(arguments)
      working_run(arguments, 'Tell which run?', function(item, text)
        local function tell(words)
          if words and vim.trim(words) ~= '' then
            require('outrigger.runs').steer(item, { type = 'message', text = words })
          end
        end
        if text ~= '' then
          return tell(text)
        end
        vim.ui.input({ prompt = 'Tell the agent: ' }, tell)
      end)
    end,
    complete = working_ids,
  },
  pause = {
    run = function(arguments)
      working_run(arguments, 'Pause which run?', function(item)
        require('outrigger.runs').steer(item, { type = 'pause' })
      end)
    end,
    complete = working_ids,
  },
  continue = {
    run = function(arguments)
      working_run(arguments, 'Let which run go on?', function(item)
        require('outrigger.runs').steer(item, { type = 'goOn' })
      end)
    end,
    complete = working_ids,
  },
  revert = {
    run = function(arguments)
      local words = vim.split(vim.trim(arguments), '%s+', { trimempty = true })
      local runs = require('outrigger.runs')
      local id = ''
      -- Ids have no dots and slashes; paths alone mean the newest run.
      if words[1] and (runs.get(words[1]) or words[1]:match('^r%w+$')) then
        id = table.remove(words, 1)
      end
      any_run(id, 'no run is known', 'Revert which run?', function(item, client)
        require('outrigger.undo').revert(client, item, #words > 0 and words or nil)
      end)
    end,
    complete = function(_, before)
      local runs = require('outrigger.runs')
      local named = runs.get(before:match('revert%s+(%S+)%s') or '')
      if named then
        return vim.list_slice(named.order)
      end
      local candidates = ids(runs.all())
      local newest = runs.all()[1]
      return vim.list_extend(candidates, newest and newest.order or {})
    end,
  },
  clean = {
    run = function()
      require('outrigger.client').with(function(client)
        require('outrigger.undo').clean(client)
      end)
    end,
  },
  questions = {
    run = function()
      local questions = require('outrigger.questions')
      local open = questions.open()
      if #open == 0 then
        return vim.notify('Outrigger: nothing is asked')
      end
      vim.ui.select(open, {
        prompt = 'Open questions',
        kind = 'outrigger.questions',
        format_item = questions.headline,
      }, function(question)
        if question then
          require('outrigger.prompt').ask(question.id)
        end
      end)
    end,
  },
  answer = {
    run = function(arguments)
      local questions = require('outrigger.questions')
      pick(questions.open(), arguments, {
        none = 'no such question is open',
        prompt = 'Answer which question?',
        format = questions.headline,
      }, function(question)
        require('outrigger.prompt').ask(question.id)
      end)
    end,
    complete = function()
      return ids(require('outrigger.questions').open())
    end,
  },
  diff = {
    run = function(arguments)
      local questions = require('outrigger.questions')
      local overwrites = vim.tbl_filter(function(question)
        return questions.kind_of(question) == 'overwrite'
      end, questions.open())
      pick(overwrites, arguments, {
        none = 'no such overwrite is asked about',
        prompt = 'Show which difference?',
        format = questions.headline,
      }, function(question)
        require('outrigger.diff').open(question.id)
      end)
    end,
    complete = function()
      return ids(vim.tbl_filter(function(question)
        return question.kind.kind == 'overwrite'
      end, require('outrigger.questions').open()))
    end,
  },
  accept = {
    run = function()
      require('outrigger.diff').accept()
    end,
  },
  keep = {
    run = function(arguments)
      require('outrigger.diff').keep(arguments ~= '' and arguments or nil)
    end,
  },
  hunk = {
    run = function(arguments)
      if arguments ~= 'take' and arguments ~= 'leave' then
        return warn('use :Outrigger hunk take or :Outrigger hunk leave')
      end
      require('outrigger.diff').hunk(arguments)
    end,
    complete = function()
      return { 'take', 'leave' }
    end,
  },
  fix = {
    run = function(arguments, command)
      local options, more = plus_options(arguments)
      local found = diagnostics_at(command)
      if #found == 0 then
        return warn('there is no diagnostic on this line')
      end
      local client = require('outrigger.client').current()
      local file = vim.api.nvim_buf_get_name(0)
      local path = client and require('outrigger.client').relative(client, file) or vim.fn.fnamemodify(file, ':.')
      local lines = { 'Fix what is reported here, and nothing else:', '' }
      for _, diagnostic in ipairs(found) do
        lines[#lines + 1] = ('%s:%d:%d: %s%s%s'):format(
          path,
          diagnostic.lnum + 1,
          vim.str_utfindex(vim.fn.getline(diagnostic.lnum + 1), 'utf-32', diagnostic.col, false) + 1,
          diagnostic.source and diagnostic.source .. ': ' or '',
          diagnostic.code and tostring(diagnostic.code) .. ' ' or '',
          diagnostic.message
        )
      end
      if vim.trim(more) ~= '' then
        vim.list_extend(lines, { '', more })
      end
      require('outrigger.runs').start(table.concat(lines, '\n'), { model = options.model })
    end,
  },
  findings = {
    run = function()
      require('outrigger.quickfix').findings()
    end,
  },
  changes = {
    run = function(arguments)
      any_run(arguments, 'no run is known', 'Show the changes of which run?', function(item)
        require('outrigger.quickfix').changes(item)
      end)
    end,
    complete = function()
      return ids(require('outrigger.runs').all())
    end,
  },
  panel = {
    run = function()
      require('outrigger.panel').open()
    end,
  },
  doctor = {
    run = function()
      vim.cmd('checkhealth outrigger')
    end,
  },
  log = {
    run = function(arguments)
      local runs = require('outrigger.runs')
      pick(arguments == '' and vim.list_slice(runs.all(), 1, 1) or runs.all(), arguments, {
        none = 'no such run is known',
        prompt = 'Show the log of which run?',
        format = run_line,
      }, function(item)
        require('outrigger.log').show(item)
      end)
    end,
    complete = function()
      return ids(require('outrigger.runs').all())
    end,
  },
}

---@param command { args: string, range: integer, line1: integer, line2: integer }
function M.execute(command)
  local name, arguments = command.args:match('^%s*(%S+)%s*(.*)$')
  if not name then
    return M.subcommands.questions.run('', command)
  end
  local subcommand = M.subcommands[name]
  if not subcommand then
    return warn(('there is no subcommand `%s`; there are %s'):format(name, table.concat(M.names(), ', ')))
  end
  subcommand.run(arguments, command)
end

---@return string[]
function M.names()
  local names = vim.tbl_keys(M.subcommands)
  table.sort(names)
  return names
end

---@param lead string
---@param line string
---@param cursor integer
---@return string[]
function M.complete(lead, line, cursor)
  local before = line:sub(1, cursor)
  local name = before:match('Outrigger!?%s+(%S+)%s')
  local candidates
  if not name then
    candidates = M.names()
  else
    local subcommand = M.subcommands[name]
    candidates = subcommand and subcommand.complete and subcommand.complete(lead, before) or {}
  end
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, candidates)
end

return M
