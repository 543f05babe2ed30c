--- Open questions at their places, as virtual text.
---
--- They are diagnostics of the sidecar as well. Where diagnostics have no virtual text of their own (Neovim's default), this
--- shows the question where it is asked; it moves with the text and goes when the question is resolved.
local client_module = require('outrigger.client')
local questions = require('outrigger.questions')

local M = {}

local namespace = vim.api.nvim_create_namespace('outrigger.inline')
---@type table<string, { buffer: integer, mark: integer }> by question
local shown = {}

--- Whether the user's own diagnostics show texts at lines.
local function has_virtual_text()
  local set = vim.diagnostic.config() or {}
  return (set.virtual_text or set.virtual_lines) and true or false
end

local function hide(id)
  local at = shown[id]
  shown[id] = nil
  if at and vim.api.nvim_buf_is_valid(at.buffer) then
    vim.api.nvim_buf_del_extmark(at.buffer, namespace, at.mark)
  end
end

--- Shows a question if its file is loaded and it is not shown yet.
---@param id string
local function show(id)
  local question, client = questions.get(id)
  local at = shown[id]
  if at and vim.api.nvim_buf_is_loaded(at.buffer) then
    return
  end
  if not question or not client or not question.place or has_virtual_text() then
    return
  end
  local file = client_module.absolute(client, question.place.path)
  local buffer = require('outrigger.document').buffer_of(vim.uri_from_fname(file))
  if not buffer then
    return
  end
  local row = math.min(question.place.range.start.line, vim.api.nvim_buf_line_count(buffer) - 1)
  local title = question.title:gsub('%s+', ' ')
  shown[id] = {
    buffer = buffer,
    mark = vim.api.nvim_buf_set_extmark(buffer, namespace, row, 0, {
      virt_text = { { ' ? ' .. title, 'DiagnosticVirtualTextInfo' }, { '  :Outrigger answer', 'Comment' } },
      virt_text_pos = 'eol',
    }),
  }
  questions.view(id, 'inline', function()
    hide(id)
  end)
end

--- Shows all open questions of loaded files.
function M.draw()
  for _, question in ipairs(questions.open()) do
    show(question.id)
  end
end

local group = vim.api.nvim_create_augroup('outrigger.inline', {})
vim.api.nvim_create_autocmd('BufReadPost', {
  group = group,
  desc = 'Outrigger: questions about this file',
  callback = function(event)
    -- Reading the file again takes the marks with it.
    for id, at in pairs(shown) do
      if at.buffer == event.buf then
        hide(id)
      end
    end
    M.draw()
  end,
})

return M
