--- Findings and changes as quickfix lists.
local client_module = require('outrigger.client')

local M = {}

---@param title string
---@param items table[]
---@param none string
local function show(title, items, none)
  if #items == 0 then
    return vim.notify('Outrigger: ' .. none)
  end
  vim.fn.setqflist({}, ' ', { title = title, items = items })
  vim.cmd('botright copen')
end

--- What the gates say now.
function M.findings()
  local client = client_module.current()
  local found = client and require('outrigger.panel').findings(client) or {}
  show('Outrigger: findings', vim.diagnostic.toqflist(found), 'no findings')
end

--- The files that a run changed, each at its first changed line as it is now known.
---@param run outrigger.Run?
function M.changes(run)
  local client = run and vim.lsp.get_client_by_id(run.client_id)
  local items = {}
  if run and client then
    for _, path in ipairs(run.order) do
      local change = run.changes[path]
      items[#items + 1] = {
        filename = client_module.absolute(client, path),
        lnum = 1,
        text = ('+%d -%d'):format(change.added, change.removed),
      }
    end
  end
  show('Outrigger: changes', items, 'no changes')
end

return M
