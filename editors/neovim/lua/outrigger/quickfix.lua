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
  local found = client and require('outrigger.panel.lines').findings(client) or {}
  show('Outrigger: findings', vim.diagnostic.toqflist(found), 'no findings')
end

--- What a hunk is, in a line.
---@param hunk table
local function summary(hunk)
  local line = hunk.added[1] or hunk.removed[1] or ''
  return ('+%d -%d  %s'):format(#hunk.added, #hunk.removed, vim.trim((line:gsub('%s+', ' '))))
end

--- What a run changed, each part at its line.
---@param run { id: string, client_id: integer }
function M.changes(run)
  local client = vim.lsp.get_client_by_id(run.client_id)
  if not client then
    return vim.notify('Outrigger: the sidecar of this run is gone', vim.log.levels.WARN)
  end
  client_module.request(client, 'outrigger/run/changes', { runId = run.id }, function(result)
    local items = {}
    for _, file in ipairs(result.files) do
      local filename = client_module.absolute(client, file.path)
      if #file.hunks == 0 or file.kind == 'deleted' then
        items[#items + 1] = { filename = filename, lnum = 1, text = file.kind }
      else
        for _, hunk in ipairs(file.hunks) do
          -- 0-based; lines that only went leave the line after them.
          items[#items + 1] = { filename = filename, lnum = hunk.newStart + 1, text = summary(hunk) }
        end
      end
    end
    show('Outrigger: changes', items, 'no changes')
  end)
end

return M
