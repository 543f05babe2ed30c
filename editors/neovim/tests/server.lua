--- A language server inside this Neovim, for tests of the client alone: answers what it is told to, keeps what it is sent.
local t = require('harness')

local M = {}

---@class tests.Server
---@field client vim.lsp.Client
---@field sent table[] notifications and requests of the client, in order
---@field ask fun(method: string, params: table): any, any
---@field tell fun(method: string, params: table)

--- Starts one for a folder, with the plugin's own configuration.
---@param root string
---@param replies table<string, fun(params: table): any, any>?
---@param methods string[]? that it says it takes
---@return tests.Server
function M.start(root, replies, methods)
  local server = { sent = {} }
  local config = vim.tbl_deep_extend('force', vim.deepcopy(vim.lsp.config.outrigger), {
    root_dir = root,
    cmd = function(dispatchers)
      local closing = false
      local function leave()
        if not closing then
          closing = true
          dispatchers.on_exit(0, 0)
        end
      end
      server.ask = dispatchers.server_request
      server.tell = dispatchers.notification
      return {
        request = function(method, params, callback)
          table.insert(server.sent, { method = method, params = vim.deepcopy(params) })
          if method == 'initialize' then
            callback(nil, {
              capabilities = {
                positionEncoding = 'utf-8',
                textDocumentSync = { openClose = true, change = 2, save = {} },
                experimental = { outrigger = { version = 1, methods = methods or {} } },
              },
            })
          elseif method == 'outrigger/run/list' and not (replies and replies[method]) then
            callback(nil, { runs = {} })
          elseif method == 'outrigger/question/list' and not (replies and replies[method]) then
            callback(nil, { questions = {} })
          elseif replies and replies[method] then
            local result, problem = replies[method](params)
            callback(problem, result)
          else
            callback(nil, vim.NIL)
          end
          return true, #server.sent
        end,
        notify = function(method, params)
          table.insert(server.sent, { method = method, params = vim.deepcopy(params) })
          if method == 'exit' then
            leave()
          end
          return true
        end,
        is_closing = function()
          return closing
        end,
        terminate = function()
          leave()
        end,
      }
    end,
  })
  local id = assert(vim.lsp.start(config, { attach = false }))
  server.client = assert(vim.lsp.get_client_by_id(id))
  t.wait('the client', function()
    return server.client.initialized
  end)
  return server
end

--- The texts of a document as the server knows it: by what it was sent.
---@param server tests.Server
---@param uri string
---@return string
function M.text(server, uri)
  local text
  for _, message in ipairs(server.sent) do
    local params = message.params
    if message.method == 'textDocument/didOpen' and params.textDocument.uri == uri then
      text = params.textDocument.text
    elseif message.method == 'textDocument/didChange' and params.textDocument.uri == uri then
      for _, change in ipairs(params.contentChanges) do
        text = change.range and require('reference').apply(text, { { range = change.range, newText = change.text } })
          or change.text
      end
    end
  end
  return assert(text, 'the document was never opened')
end

--- After a failed test: no client of it stays.
table.insert(t.after_failure, function()
  for _, client in ipairs(vim.lsp.get_clients({ name = 'outrigger' })) do
    client:stop(true)
  end
  vim.cmd('silent! %bwipeout!')
end)

---@param server tests.Server
function M.stop(server)
  server.client:stop(true)
  t.wait('the end of the client', function()
    return vim.lsp.get_client_by_id(server.client.id) == nil
  end)
  vim.cmd('silent! %bwipeout!')
end

return M
