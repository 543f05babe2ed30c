--- A Rust project in a temporary folder, the sidecar's state beside it, and scripts for the scripted model.
local t = require('harness')

local M = {}

---@class tests.Project
---@field root string
---@field state string

--- A workspace with these files, known to the sidecar of this test alone.
---@param files table<string, string>
---@return tests.Project
function M.new(files)
  local root = t.folder()
  t.write(root .. '/Cargo.toml', '[package]\nname = "mass"\nversion = "0.1.0"\nedition = "2021"\n')
  for path, text in pairs(files) do
    t.write(root .. '/' .. path, text)
  end
  return { root = root, state = t.folder() }
end

--- Starts the sidecar in this project, with nothing open yet.
---@param project tests.Project
function M.enter(project)
  local binary = assert(vim.env.OUTRIGGER_BIN, 'set OUTRIGGER_BIN to the sidecar')
  vim.lsp.config('outrigger', {
    cmd = { binary, 'lsp' },
    cmd_env = { OUTRIGGER_STATE_DIR = project.state },
  })
  vim.api.nvim_set_current_dir(project.root)
  vim.lsp.enable('outrigger')
end

---@param project tests.Project
---@param path string
---@return integer buffer
function M.open(project, path)
  vim.cmd.edit(vim.fn.fnameescape(project.root .. '/' .. path))
  local buffer = vim.api.nvim_get_current_buf()
  local client = t.wait('the sidecar on ' .. path, function()
    local client = vim.lsp.get_clients({ bufnr = buffer, name = 'outrigger' })[1]
    return client and client.initialized and client.attached_buffers[buffer] and client
  end)
  -- What it is told is handled in order: with this answer it has looked at the file.
  assert(client:request_sync('outrigger/run/list', vim.empty_dict(), 10000, buffer))
  return buffer
end

---@type table<integer, boolean> clients that were told to stop
local stopping = {}

--- Leaves the project: no sidecar, no buffers, one window.
function M.leave()
  vim.lsp.enable('outrigger', false)
  t.wait('the end of the sidecar', function()
    -- One that was still being started for a buffer comes late.
    local clients = vim.lsp.get_clients({ name = 'outrigger', _uninitialized = true })
    for _, client in ipairs(clients) do
      if client.initialized and not stopping[client.id] then
        stopping[client.id] = true
        client:stop()
      end
    end
    return #clients == 0
  end)
  vim.cmd('silent! tabonly! | silent! only!')
  vim.cmd('silent! %bwipeout!')
end

table.insert(t.after_failure, M.leave)

--- A script of turns; returns the name of the model.
---@param project tests.Project
---@param name string
---@param turns table[]
function M.script(project, name, turns)
  local lines = { vim.json.encode({ script = 1, name = name }) }
  for _, turn in ipairs(turns) do
    lines[#lines + 1] = vim.json.encode(turn)
  end
  local path = ('%s/%s.script.jsonl'):format(project.state, name)
  t.write(path, table.concat(lines, '\n') .. '\n')
  return 'scripted:' .. path
end

--- A turn that calls one tool.
---@param id string
---@param tool string
---@param args table
---@param expect table?
function M.call(id, tool, args, expect)
  return { expect = expect, emit = { { tool = tool, id = id, args = args } } }
end

---@param text string
---@param expect table?
function M.say(text, expect)
  return { expect = expect, emit = { { text = text } } }
end

--- What the last tool call must have come to.
---@param id string
---@param ... string
function M.told(id, ...)
  return { last = { role = 'tool', id = id, contains = { ... } } }
end

return M
