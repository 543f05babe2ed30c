--- The sidecar's clients: which one a buffer belongs to, starting one, asking it.
local M = {}

M.NAME = 'outrigger'

--- What marks the root of a workspace. Each entry outranks the ones after it.
local markers = {
  'outrigger.toml',
  '.git',
  { 'Cargo.toml', 'package.json', 'pyproject.toml', 'go.mod', 'pom.xml', 'build.gradle', 'composer.json', 'Gemfile' },
}

--- The workspace of a buffer with a file; nil: none, and then no sidecar is started for it.
---@param buffer integer
---@return string?
function M.root_of(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  if vim.bo[buffer].buftype ~= '' or name == '' or name:match('^%a[%w+.-]*://') then
    return nil
  end
  for _, marker in ipairs(markers) do
    local root = vim.fs.root(buffer, marker)
    if root then
      return root
    end
  end
end

---@return vim.lsp.Client[]
function M.all()
  return vim.lsp.get_clients({ name = M.NAME })
end

--- The client for what the user is looking at: the buffer's own, else the only one.
---@param buffer integer?
---@return vim.lsp.Client?
function M.current(buffer)
  local attached = vim.lsp.get_clients({ name = M.NAME, bufnr = buffer or vim.api.nvim_get_current_buf() })
  if attached[1] then
    return attached[1]
  end
  local all = M.all()
  if #all == 1 then
    return all[1]
  end
end

--- Gives `done` the current client, started first where there is none.
---@param done fun(client: vim.lsp.Client)
function M.with(done)
  local client = M.current()
  if client then
    return M.when_initialized(client, done)
  end
  local buffer = vim.api.nvim_get_current_buf()
  local root = M.root_of(buffer)
  local attach = root ~= nil
  root = root or vim.fs.root(vim.fn.getcwd(), { 'outrigger.toml', '.git', 'Cargo.toml' }) or vim.fn.getcwd()
  local config = vim.tbl_extend('force', vim.deepcopy(vim.lsp.config[M.NAME]), { root_dir = root })
  local id = vim.lsp.start(config, { bufnr = buffer, attach = attach })
  if not id then
    vim.notify('Outrigger: the sidecar did not start; see :checkhealth outrigger', vim.log.levels.ERROR)
    return
  end
  M.when_initialized(assert(vim.lsp.get_client_by_id(id)), done)
end

---@type table<integer, (fun(client: vim.lsp.Client))[]>
local waiting = {}

---@param client vim.lsp.Client
---@param done fun(client: vim.lsp.Client)
function M.when_initialized(client, done)
  if client.initialized then
    return done(client)
  end
  waiting[client.id] = waiting[client.id] or {}
  table.insert(waiting[client.id], done)
end

--- The error of a custom request, in words.
---@param err { message: string }
function M.tell(err)
  vim.notify('Outrigger: ' .. (err.message or vim.inspect(err)), vim.log.levels.ERROR)
end

--- Takes away what is null: some versions of Neovim give `vim.NIL` for it, which counts as true.
---@generic T
---@param value T
---@return T
function M.without_null(value)
  if value == vim.NIL then
    return nil
  elseif type(value) == 'table' then
    for key, part in pairs(value) do
      if part == vim.NIL then
        value[key] = nil
      elseif type(part) == 'table' then
        M.without_null(part)
      end
    end
  end
  return value
end

--- Sends a custom request; errors are told to the user, unless `failed` takes them.
---@param client vim.lsp.Client
---@param method string
---@param params table
---@param done fun(result: any)?
---@param failed fun(err: table)?
function M.request(client, method, params, done, failed)
  -- What the user typed up to now belongs to what they ask now.
  require('outrigger.document').flush(client)
  client:request(method, params, function(err, result)
    if err then
      (failed or M.tell)(err)
    elseif done then
      done(M.without_null(result))
    end
  end)
end

--- Whether the sidecar says that it takes this request.
---@param client vim.lsp.Client
---@param method string
---@return boolean
function M.offers(client, method)
  local methods = vim.tbl_get(client.server_capabilities or {}, 'experimental', 'outrigger', 'methods')
  return vim.list_contains(methods or {}, method)
end

--- Absolute path of a workspace path.
---@param client vim.lsp.Client
---@param path string
function M.absolute(client, path)
  return vim.fs.joinpath(client.root_dir or vim.fn.getcwd(), path)
end

--- The workspace path of a file, or its absolute path when it is elsewhere.
---@param client vim.lsp.Client
---@param file string
function M.relative(client, file)
  local root = client.root_dir
  return root and vim.fs.relpath(root, file) or file
end

--- Buffers whose files have no filetype are not enabled by Neovim, but their unsaved text counts as well.
---@param client vim.lsp.Client
local function attach_all(client)
  local function attach(buffer)
    if
      vim.api.nvim_buf_is_loaded(buffer)
      and vim.bo[buffer].buftype == ''
      and not client:is_stopped()
      and client.root_dir
    then
      local name = vim.api.nvim_buf_get_name(buffer)
      local real = name ~= '' and (vim.uv.fs_realpath(name) or name)
      local root = vim.uv.fs_realpath(client.root_dir) or client.root_dir
      if real and vim.fs.relpath(root, real) then
        vim.lsp.buf_attach_client(buffer, client.id)
      end
    end
  end
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    attach(buffer)
  end
  local group = vim.api.nvim_create_augroup('outrigger.attach.' .. client.id, {})
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile', 'BufFilePost', 'BufWritePost' }, {
    group = group,
    desc = 'Outrigger: unsaved text of every file of the workspace counts',
    callback = function(event)
      attach(event.buf)
    end,
  })
end

---@param client vim.lsp.Client
function M.on_init(client)
  -- After didOpen of the buffers that Neovim attaches itself.
  vim.schedule(function()
    if client:is_stopped() then
      return
    end
    attach_all(client)
    require('outrigger.runs').connected(client)
    for _, done in ipairs(waiting[client.id] or {}) do
      done(client)
    end
    waiting[client.id] = nil
  end)
end

---@param code integer
---@param signal integer
---@param id integer
function M.on_exit(code, signal, id)
  vim.schedule(function()
    pcall(vim.api.nvim_del_augroup_by_name, 'outrigger.attach.' .. id)
    waiting[id] = nil
    require('outrigger.runs').disconnected(id, code, signal)
  end)
end

return M
