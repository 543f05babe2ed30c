--- What the user looks at: open documents, the selection, and what other tools report. Context for the model of a run.
local client_module = require('outrigger.client')

local M = {}

--- Problems of one document that are told; the sidecar cuts further.
local PROBLEMS = 20

local severities = {
  [vim.diagnostic.severity.ERROR] = 'error',
  [vim.diagnostic.severity.WARN] = 'warning',
  [vim.diagnostic.severity.INFO] = 'information',
  [vim.diagnostic.severity.HINT] = 'hint',
}

---@param buffer integer
---@param own integer namespace of the sidecar's own diagnostics
local function problems(buffer, own)
  local found = {}
  for _, diagnostic in ipairs(vim.diagnostic.get(buffer)) do
    if diagnostic.namespace ~= own and #found < PROBLEMS then
      found[#found + 1] = {
        line = diagnostic.lnum + 1,
        severity = severities[diagnostic.severity],
        source = diagnostic.source,
        code = diagnostic.code and tostring(diagnostic.code) or nil,
        message = diagnostic.message,
      }
    end
  end
  return #found > 0 and found or nil
end

--- The documents of the client's workspace, the current one first.
---@param client vim.lsp.Client
---@param selection { firstLine: integer, lastLine: integer, text: string }? of the current buffer
---@return table[]
function M.documents(client, selection)
  local own = vim.lsp.diagnostic.get_namespace(client.id)
  local current = vim.api.nvim_get_current_buf()
  local documents = {}
  for buffer in pairs(client.attached_buffers) do
    local name = vim.api.nvim_buf_is_loaded(buffer) and vim.api.nvim_buf_get_name(buffer) or ''
    local path = name ~= '' and client.root_dir and vim.fs.relpath(client.root_dir, name)
    if path and vim.bo[buffer].buflisted then
      local document = {
        path = path,
        visible = #vim.fn.win_findbuf(buffer) > 0,
        selection = buffer == current and selection or nil,
        problems = problems(buffer, own),
      }
      table.insert(documents, buffer == current and 1 or #documents + 1, document)
    end
  end
  return documents
end

--- Tells the sidecar, if it takes it; `done` is called either way.
---@param client vim.lsp.Client
---@param selection { firstLine: integer, lastLine: integer, text: string }?
---@param done fun()
function M.tell(client, selection, done)
  local method = 'outrigger/editor/view'
  if not client_module.offers(client, method) then
    return done()
  end
  -- It is context alone: no run is held up by what is wrong with it.
  client_module.request(client, method, { documents = M.documents(client, selection) }, done, done)
end

return M
