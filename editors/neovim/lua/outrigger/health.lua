--- `:checkhealth outrigger`
local M = {}

local function check_binary(health, config)
  local cmd = config.cmd
  if type(cmd) ~= 'table' then
    health.info('`cmd` is a function; the binary is not checked')
    return
  end
  if vim.fn.executable(cmd[1]) == 0 then
    health.error(('there is no program `%s`'):format(cmd[1]), {
      'install it: cargo install outrigger',
      "or say where it is: vim.lsp.config('outrigger', { cmd = { '/path/to/outrigger', 'lsp' } })",
    })
    return
  end
  local result = vim.system({ cmd[1], '--version' }, { text = true, timeout = 5000 }):wait()
  if result.code ~= 0 then
    health.error(
      ('`%s --version` failed with exit code %d: %s'):format(cmd[1], result.code, vim.trim(result.stderr or ''))
    )
  elseif not result.stdout:match('^outrigger ') then
    health.error(('`%s` is another program: %s'):format(cmd[1], vim.trim(result.stdout)))
  else
    health.ok(('%s (%s)'):format(vim.trim(result.stdout), vim.fn.exepath(cmd[1])))
  end
end

local function check_clients(health)
  local client_module = require('outrigger.client')
  local clients = client_module.all()
  if #clients == 0 then
    health.info('no sidecar is running; it starts with the first file of a workspace that is opened')
  end
  for _, client in ipairs(clients) do
    health.ok(
      ('running in %s, %s %s, columns in %s'):format(
        client.root_dir or '?',
        client.server_info and client.server_info.name or '?',
        client.server_info and client.server_info.version or '?',
        client.offset_encoding
      )
    )
    local offer = vim.tbl_get(client.server_capabilities or {}, 'experimental', 'outrigger')
    local own = vim.tbl_get(client.capabilities, 'experimental', 'outrigger')
    if not own then
      health.error('this Neovim did not offer to take events and questions', {
        'do not replace `capabilities` of the configuration; add to them',
      })
    elseif not offer then
      health.error('the server does not speak the Outrigger protocol')
    elseif offer.version ~= own.version then
      health.warn(
        ('the server speaks version %s of the protocol, the plugin version %s'):format(offer.version, own.version)
      )
    else
      health.ok(('protocol version %d'):format(offer.version))
    end
    for _, name in ipairs({ 'apply_edit', 'document_save' }) do
      local method = name == 'apply_edit' and 'workspace/applyEdit' or 'outrigger/document/save'
      if not client.handlers[method] then
        health.warn(('the handler of %s was taken away; edits or saves may not be exact'):format(method))
      end
    end
  end
end

--- What the program says as JSON in the workspace of the current directory; nil: it does not know the words.
---@param config vim.lsp.Config
---@param arguments string[]
---@return table?
local function asked(config, arguments)
  if type(config.cmd) ~= 'table' or vim.fn.executable(config.cmd[1]) == 0 then
    return nil
  end
  local client = require('outrigger.client').current()
  local ok, result = pcall(function()
    return vim
      .system(vim.list_extend({ config.cmd[1] }, arguments), {
        text = true,
        timeout = 10000,
        cwd = client and client.root_dir or nil,
        env = config.cmd_env,
      })
      :wait()
  end)
  local read, value = pcall(vim.json.decode, ok and result.stdout or '', { luanil = { object = true } })
  return read and type(value) == 'table' and value or nil
end

local function check_model(health, config)
  local set = require('outrigger.config').get()
  if set.model then
    health.ok(('`%s`, from the options of the plugin'):format(set.model))
    return
  end
  local models = asked(config, { 'models', '--offline', '--json' })
  if not models then
    health.info('the model is what the sidecar is configured with; see `outrigger.toml`')
  elseif models.choice then
    health.ok(('`%s`'):format(models.choice.model))
  else
    health.warn('no model is configured', vim.split(models.advice or '', '\n', { trimempty = true }))
  end
end

--- What the gates of the newest run came to, and the programs that gates need.
local function check_gates(health)
  local client = require('outrigger.client').current()
  local newest = client
    and vim.iter(require('outrigger.runs').all()):find(function(run)
      return run.client_id == client.id and next(run.gates) ~= nil
    end)
  for gate, report in vim.spairs(newest and newest.gates or {}) do
    local text = ('%s: %s, in the newest run that was checked'):format(gate, report.outcome)
    if report.outcome == 'missing' or report.outcome == 'error' then
      health.warn(text, report.notes)
    else
      health.ok(text)
    end
  end
  local programs = {
    cargo = 'Rust',
    ruff = 'Python',
    mypy = 'Python',
    pyright = 'Python',
    pytest = 'Python',
    node = 'JavaScript and TypeScript',
    go = 'Go',
  }
  for program, language in vim.spairs(programs) do
    if vim.fn.executable(program) == 1 then
      health.ok(('%s (%s)'):format(program, language))
    else
      health.info(('%s is not installed; %s is then not checked by it'):format(program, language))
    end
  end
end

--- The settings that hold, each with its origin: as the running sidecar has them, else as the program says.
---@param config vim.lsp.Config
---@return { settings: table<string, { value: any, origin: string }>, problems: string[] }?
local function settings(config)
  local client_module = require('outrigger.client')
  local client = client_module.current()
  if not client or not client_module.offers(client, 'outrigger/settings/list') then
    return asked(config, { 'config', 'show', '--json' })
  end
  local answer = client:request_sync('outrigger/settings/list', vim.empty_dict(), 5000)
  local result = answer and client_module.without_null(answer.result)
  if not result then
    return nil
  end
  local by_name = {}
  for _, setting in ipairs(result.settings) do
    by_name[setting.name] = setting
  end
  return { settings = by_name, problems = result.problems }
end

--- Which settings come from the workspace's own file, and so from whoever wrote it.
local function check_trust(health, config)
  local shown = settings(config)
  if not shown then
    return health.info('the program does not tell its settings; nothing can be said')
  end
  local policy = shown.settings['policy.commands']
  if policy then
    local say = policy.value == 'allow' and health.warn or health.ok
    say(('commands that an agent wants to run: %s (from: %s)'):format(tostring(policy.value), tostring(policy.origin)))
  end
  local own = {}
  for name, setting in vim.spairs(shown.settings) do
    if tostring(setting.origin):match('outrigger%.toml:?%d*$') then
      own[#own + 1] = name
    end
  end
  if #own > 0 then
    health.warn('set by the workspace itself: ' .. table.concat(own, ', '), {
      'read outrigger.toml before you start a run in a workspace that is not yours',
    })
  else
    health.ok('the workspace itself sets nothing')
  end
  for _, problem in ipairs(shown.problems or {}) do
    if problem:find('outrigger trust', 1, true) then
      health.warn(problem, { 'read outrigger.toml, then `:Outrigger trust`' })
    else
      health.error(problem)
    end
  end
end

function M.check()
  local health = vim.health
  health.start('outrigger: Neovim')
  if vim.fn.has('nvim-0.11') == 1 then
    health.ok(('Neovim %s'):format(tostring(vim.version())))
  else
    health.error('Neovim 0.11 or newer is needed')
    return
  end
  local config = vim.lsp.config.outrigger
  if not config then
    health.error('the configuration `outrigger` is not found', { 'is the plugin on the runtimepath?' })
    return
  end
  if vim.lsp.is_enabled('outrigger') then
    health.ok("enabled by vim.lsp.enable('outrigger')")
  else
    health.warn('not enabled', { "call vim.lsp.enable('outrigger') or require('outrigger').setup{}" })
  end
  local problems = require('outrigger.config').problems(type(vim.g.outrigger) == 'table' and vim.g.outrigger or {})
  for _, problem in ipairs(problems) do
    health.error('vim.g.outrigger: ' .. problem)
  end

  health.start('outrigger: sidecar')
  check_binary(health, config)
  check_clients(health)

  health.start('outrigger: model')
  check_model(health, config)

  health.start('outrigger: gates')
  check_gates(health)

  health.start('outrigger: trust')
  check_trust(health, config)
end

return M
