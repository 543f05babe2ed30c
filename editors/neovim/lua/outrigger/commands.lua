--- `:Outrigger …`: one table of subcommands, each with what it does and what completes it.
local shared = require('outrigger.commands.shared')
local warn, pick, ids = shared.warn, shared.pick, shared.ids

local M = {}

---@class outrigger.Subcommand
---@field run fun(arguments: string, command: table)
---@field complete (fun(lead: string, before: string): string[])?

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

--- Open questions of a kind.
---@param kind string
---@return outrigger.wire.Question[]
local function of_kind(kind)
  local questions = require('outrigger.questions')
  return vim.tbl_filter(function(question)
    return questions.kind_of(question) == kind
  end, questions.open())
end

local function run_line(item)
  return ('%s  %s  %s'):format(item.id, item.status, (item.prompt:gsub('\n.*', '')))
end

---@type table<string, outrigger.Subcommand>
M.subcommands = {
  run = require('outrigger.commands.run'),
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
      pick(of_kind('overwrite'), arguments, {
        none = 'no such overwrite is asked about',
        prompt = 'Show which difference?',
        format = questions.headline,
      }, function(question)
        require('outrigger.diff').open(question.id)
      end)
    end,
    complete = function()
      return ids(of_kind('overwrite'))
    end,
  },
  plan = {
    run = function(arguments)
      local questions = require('outrigger.questions')
      pick(of_kind('plan'), arguments, {
        none = 'no such plan is asked about',
        prompt = 'Show which plan?',
        format = questions.headline,
      }, function(question)
        require('outrigger.plan').open(question.id)
      end)
    end,
    complete = function()
      return ids(of_kind('plan'))
    end,
  },
  accept = {
    run = function()
      local plan = package.loaded['outrigger.plan']
      if plan and plan.here() then
        return plan.accept()
      end
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
      local options, more = shared.plus_options(arguments)
      local found = shared.diagnostics_at(command)
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
  task = require('outrigger.commands.task'),
  trust = require('outrigger.commands.trust'),
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
