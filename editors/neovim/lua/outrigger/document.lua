--- Documents: the sidecar's edits and saves of open buffers.
---
--- Promises: text typed meanwhile is never overwritten (an edit for another version is refused), an edit is one step of
--- undo, nothing is asked of the user, and a buffer is saved only over the file that Neovim last read or wrote.
local edit = require('outrigger.edit')

local M = {}

--- The loaded buffer of a URI; never makes one.
---@param uri string
---@return integer?
function M.buffer_of(uri)
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if
      vim.api.nvim_buf_is_loaded(buffer)
      and vim.bo[buffer].buftype == ''
      and vim.api.nvim_buf_get_name(buffer) ~= ''
      and vim.uri_from_bufnr(buffer) == uri
    then
      return buffer
    end
  end
end

---@param buffer integer
local function name_of(buffer)
  return vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buffer), ':~:.')
end

--- Tells the server now what was changed, instead of after the debounce time.
---@param client vim.lsp.Client
function M.flush(client)
  -- Not a public module: without it the changes arrive a debounce time later, which is slower and not wrong.
  local ok, tracking = pcall(require, 'vim.lsp._changetracking')
  if ok and tracking.flush then
    pcall(tracking.flush, client)
  end
end

--- Like `flush`, but the change of this buffer goes out as its whole text: an end of the last line that came or went is
--- no change of a line, and is not in what Neovim has tracked.
---@param client vim.lsp.Client
---@param buffer integer
local function flush_whole(client, buffer)
  local uri = vim.uri_from_bufnr(buffer)
  local notify = client.notify
  client.notify = function(self, method, params)
    if method == 'textDocument/didChange' and params.textDocument.uri == uri then
      params = vim.tbl_extend('force', params, {
        contentChanges = { { text = edit.joined(edit.text_of(buffer)) } },
      })
    end
    return notify(self, method, params)
  end
  M.flush(client)
  client.notify = notify
end

---@class outrigger.document.Change
---@field buffer integer
---@field plan outrigger.edit.Plan

--- Checks one document's part of a workspace edit, without changing anything.
---@param client vim.lsp.Client
---@param change lsp.TextDocumentEdit
---@return outrigger.document.Change?
---@return string? refusal
local function check(client, change)
  local uri = change.textDocument.uri
  local buffer = M.buffer_of(uri)
  if not buffer then
    return nil, ('%s is not open in Neovim'):format(vim.uri_to_fname(uri))
  end
  local version = change.textDocument.version
  local now = vim.lsp.util.buf_versions[buffer]
  if type(version) == 'number' and version ~= now then
    return nil, ('%s has changed meanwhile (version %s, the edit is for %d)'):format(name_of(buffer), now, version)
  end
  if not vim.bo[buffer].modifiable then
    return nil, ('%s is not modifiable'):format(name_of(buffer))
  end
  if vim.bo[buffer].readonly then
    return nil, ('%s is read-only in Neovim'):format(name_of(buffer))
  end
  local plan, problem = edit.plan(edit.text_of(buffer), change.edits, client.offset_encoding)
  if not plan then
    return nil, ('%s: %s'):format(name_of(buffer), problem)
  end
  return { buffer = buffer, plan = plan }
end

--- Answers `workspace/applyEdit`: all of it or nothing.
---@param client vim.lsp.Client
---@param workspace_edit lsp.WorkspaceEdit
---@return lsp.ApplyWorkspaceEditResult
function M.apply(client, workspace_edit)
  local documents = workspace_edit.documentChanges or {}
  for uri, edits in pairs(workspace_edit.changes or {}) do
    documents[#documents + 1] = { textDocument = { uri = uri }, edits = edits }
  end
  local changes = {}
  for index, document in ipairs(documents) do
    local change, refusal
    if document.kind then
      refusal = ('files are not created, renamed or deleted by edits (%s)'):format(document.kind)
    else
      change, refusal = check(client, document)
    end
    if not change then
      return { applied = false, failureReason = refusal, failedChange = index - 1 }
    end
    changes[index] = change
  end
  for index, change in ipairs(changes) do
    local had_end = vim.bo[change.buffer].endofline
    local ok, problem = pcall(edit.perform, change.buffer, change.plan)
    if had_end ~= vim.bo[change.buffer].endofline then
      flush_whole(client, change.buffer)
    end
    if not ok then
      M.flush(client)
      return { applied = false, failureReason = tostring(problem), failedChange = index - 1 }
    end
  end
  -- The server waits for the new text before it asks for the save.
  M.flush(client)
  return { applied = true }
end

--- Whether the file on disk is still what Neovim last read or wrote. Asks Neovim itself, with its own question answered.
---@param buffer integer
---@return string? problem
local function changed_on_disk(buffer)
  local reason
  -- Defined last, so it runs last, and what it chooses holds: neither a prompt nor a reload, which would lose text.
  local autocmd = vim.api.nvim_create_autocmd('FileChangedShell', {
    buffer = buffer,
    callback = function()
      reason = vim.v.fcs_reason
      vim.v.fcs_choice = ''
    end,
  })
  local ignored = vim.o.eventignore
  -- With the event ignored Neovim would ask instead.
  vim.o.eventignore = ''
  local ok, problem = pcall(function()
    vim.cmd.checktime({ args = { tostring(buffer) }, mods = { silent = true } })
  end)
  vim.o.eventignore = ignored
  pcall(vim.api.nvim_del_autocmd, autocmd)
  if not ok then
    return tostring(problem)
  end
  if reason == 'changed' or reason == 'conflict' then
    return 'the file has changed on disk since Neovim read it'
  elseif reason == 'deleted' then
    return 'the file was deleted on disk since Neovim read it'
  end
  -- 'mode' and 'time' leave the bytes as they were.
end

--- A run has deleted or moved the file of an open buffer: the buffer stays, so that its text and its undo are not lost, and
--- Neovim does not warn that the file is gone, because the user has been told and has agreed.
---@param client vim.lsp.Client
---@param path string in the workspace
function M.deleted(client, path)
  local buffer = M.buffer_of(vim.uri_from_fname(require('outrigger.client').absolute(client, path)))
  if not buffer then
    return
  end
  local group = vim.api.nvim_create_augroup('outrigger.deleted.' .. buffer, {})
  vim.api.nvim_create_autocmd('FileChangedShell', {
    group = group,
    buffer = buffer,
    callback = function()
      vim.v.fcs_choice = vim.v.fcs_reason == 'deleted' and '' or 'ask'
    end,
  })
  -- It is there again, or nobody looks any more.
  vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufWritePost', 'BufUnload' }, {
    group = group,
    buffer = buffer,
    callback = function()
      pcall(vim.api.nvim_del_augroup_by_id, group)
    end,
  })
end

--- Answers `outrigger/document/save`: writes the buffer without asking anything.
---
--- What runs before a write (format on save, trimming) is left out, so that the bytes on disk are those that were agreed
--- on and will be checked; what runs after it (`BufWritePost`: the language servers' didSave, signs, linters) runs.
---@param uri string
---@return { saved: boolean, error: string? }
function M.save(uri)
  local buffer = M.buffer_of(uri)
  if not buffer then
    return { saved = false, error = ('%s is not open in Neovim'):format(vim.uri_to_fname(uri)) }
  end
  if not vim.bo[buffer].modified then
    return { saved = true }
  end
  if vim.bo[buffer].readonly then
    return { saved = false, error = ('%s is read-only in Neovim'):format(name_of(buffer)) }
  end
  local problem = changed_on_disk(buffer)
  if problem then
    return { saved = false, error = ('%s: %s'):format(name_of(buffer), problem) }
  end

  local ignored, fixendofline = vim.o.eventignore, vim.bo[buffer].fixendofline
  local events = 'BufWritePre,FileWritePre'
  vim.o.eventignore = ignored == '' and events or (ignored .. ',' .. events)
  vim.bo[buffer].fixendofline = false
  local ok, failure = pcall(function()
    local folder = vim.fs.dirname(vim.api.nvim_buf_get_name(buffer))
    if not vim.uv.fs_stat(folder) then
      vim.fn.mkdir(folder, 'p')
    end
    vim.api.nvim_buf_call(buffer, function()
      vim.cmd('silent keepalt lockmarks write')
    end)
  end)
  vim.o.eventignore = ignored
  if vim.api.nvim_buf_is_valid(buffer) then
    vim.bo[buffer].fixendofline = fixendofline
  end
  -- A failing BufWritePost is the user's business: the bytes are on disk.
  if not ok and vim.api.nvim_buf_is_valid(buffer) and vim.bo[buffer].modified then
    local text = tostring(failure):gsub('^.-(E%d+:)', '%1')
    return { saved = false, error = ('%s: %s'):format(name_of(buffer), text) }
  end
  return { saved = true }
end

return M
