--- Taking back what runs did to files: `:Outrigger revert` for one run, `:Outrigger clean` for all that did not succeed.
---
--- Both show first what would happen, file by file, and touch nothing until the user says so. What the user has written
--- since stays: the sidecar merges around it, or leaves the file and says why.
local client_module = require('outrigger.client')

local M = {}

---@class outrigger.undo.Part
---@field run_id string
---@field title string
---@field files outrigger.wire.RevertedFile[]

local outcomes = {
  restored = 'as before',
  removed = 'removed, the run had made it',
  merged = 'as before, with your edits since',
  alreadyAsBefore = 'already as before',
  overruled = 'as before, although it was edited since',
  left = 'LEFT as it is',
  failed = 'FAILED',
}

--- What a reader sees of a preview or of a result: a patch with the outcomes above it.
---@param head string
---@param parts outrigger.undo.Part[]
---@return string[]
function M.report(head, parts)
  local lines = { '# ' .. head }
  for _, part in ipairs(parts) do
    vim.list_extend(lines, { '#', ('# run %s: %s'):format(part.run_id, (part.title:gsub('\n.*', ''))) })
    for _, file in ipairs(part.files) do
      local reason = file.reason and (': ' .. file.reason:gsub('%s+', ' ')) or ''
      lines[#lines + 1] = ('#   %s  %s%s'):format(file.path, outcomes[file.outcome] or file.outcome, reason)
    end
  end
  for _, part in ipairs(parts) do
    for _, file in ipairs(part.files) do
      if file.patch and file.patch ~= '' then
        lines[#lines + 1] = ''
        local patch = file.patch:gsub('\n$', '')
        vim.list_extend(lines, vim.split((patch:gsub('\r\n', '\n')), '\n', { plain = true }))
      end
    end
  end
  return lines
end

--- Shows a report in a window of its own.
---@param lines string[]
---@return fun() close
local function show(lines)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = 'wipe'
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].filetype = 'diff'
  local before = vim.api.nvim_get_current_win()
  vim.cmd({ cmd = 'sbuffer', args = { tostring(buffer) }, mods = { keepalt = true, split = 'botright' } })
  local window = vim.api.nvim_get_current_win()
  vim.keymap.set('n', 'q', '<Cmd>close<CR>', { buffer = buffer, desc = 'Outrigger: close' })
  return function()
    if vim.api.nvim_win_is_valid(window) then
      pcall(vim.api.nvim_win_close, window, true)
    end
    if vim.api.nvim_win_is_valid(before) then
      vim.api.nvim_set_current_win(before)
    end
  end
end

--- One run after the other, newest first: a later run may have built on an earlier one.
---@param client vim.lsp.Client
---@param runs { id: string, prompt: string, paths: string[]? }[]
---@param preview boolean
---@param done fun(parts: outrigger.undo.Part[])
local function each(client, runs, preview, done)
  local parts = {}
  local function next_run(index)
    local run = runs[index]
    if not run then
      return done(parts)
    end
    client_module.request(
      client,
      'outrigger/run/revert',
      { runId = run.id, paths = run.paths, preview = preview },
      function(result)
        parts[#parts + 1] = { run_id = run.id, title = run.prompt, files = result.files }
        next_run(index + 1)
      end
    )
  end
  next_run(1)
end

---@param parts outrigger.undo.Part[]
---@param wanted table<string, boolean>
---@return integer
local function count(parts, wanted)
  local found = 0
  for _, part in ipairs(parts) do
    for _, file in ipairs(part.files) do
      found = found + (wanted[file.outcome] and 1 or 0)
    end
  end
  return found
end

local writes = { restored = true, removed = true, merged = true, overruled = true }

--- The files that were open and are gone: their empty shells go as well, unless there is something of the user's in them.
---@param client vim.lsp.Client
---@param parts outrigger.undo.Part[]
local function look_again(client, parts)
  for _, part in ipairs(parts) do
    for _, file in ipairs(part.files) do
      local buffer =
        require('outrigger.document').buffer_of(vim.uri_from_fname(client_module.absolute(client, file.path)))
      if buffer and writes[file.outcome] and not vim.bo[buffer].modified then
        -- With 'autoread' Neovim reads by itself what was written on disk.
        pcall(vim.cmd.checktime, { args = { tostring(buffer) }, mods = { silent = true } })
      end
    end
  end
end

---@param items { label: string }[]
---@param prompt string
---@param done fun(item: table?)
local function choose(items, prompt, done)
  vim.ui.select(items, {
    prompt = prompt,
    kind = 'outrigger.undo',
    format_item = function(item)
      return item.label
    end,
  }, done)
end

--- What was done to files, in words, and what was left where something was.
---@param client vim.lsp.Client
---@param results outrigger.undo.Part[]
local function tell_result(client, results)
  look_again(client, results)
  local left = count(results, { left = true, failed = true })
  vim.notify(
    ('Outrigger: %d taken back, %d left'):format(count(results, writes), left),
    left > 0 and vim.log.levels.WARN or vim.log.levels.INFO
  )
  if left > 0 then
    show(M.report('What was done, and what was left:', results))
  end
end

---@param client vim.lsp.Client
---@param runs { id: string, prompt: string, paths: string[]? }[]
---@param words { head: string, ask: string, all: string }
local function preview_and_ask(client, runs, words)
  each(client, runs, true, function(parts)
    if count(parts, writes) == 0 then
      local left = count(parts, { left = true, failed = true })
      if left > 0 then
        show(M.report('Nothing can be taken back by itself. What stands in the way:', parts))
      end
      return vim.notify('Outrigger: there is nothing to take back' .. (left > 0 and '; see why' or ''))
    end
    local close = show(M.report(words.head, parts))
    local items = { { label = words.all, runs = runs } }
    if #runs == 1 and count(parts, writes) > 1 then
      for _, file in ipairs(parts[1].files) do
        if writes[file.outcome] then
          local only = { id = runs[1].id, prompt = runs[1].prompt, paths = { file.path } }
          items[#items + 1] = { label = 'Only ' .. file.path, runs = { only } }
        end
      end
    end
    items[#items + 1] = { label = 'Nothing' }
    choose(items, words.ask, function(item)
      close()
      if not item or not item.runs then
        return
      end
      each(client, item.runs, false, function(results)
        tell_result(client, results)
      end)
    end)
  end)
end

--- Takes back what a run did, all of it or to these files.
---@param client vim.lsp.Client
---@param run { id: string, prompt: string }
---@param paths string[]?
function M.revert(client, run, paths)
  preview_and_ask(client, { { id = run.id, prompt = run.prompt, paths = paths } }, {
    head = 'Nothing has been touched yet. Reverting would do this:',
    ask = 'Revert this?',
    all = 'Revert all of this',
  })
end

--- Takes back what runs that did not succeed have left behind, of all of them together.
---@param client vim.lsp.Client
function M.clean(client)
  local ids, titles = {}, {}
  for _, run in ipairs(require('outrigger.runs').all()) do
    if run.client_id == client.id and run.over and (run.status == 'failed' or run.status == 'cancelled') then
      ids[#ids + 1] = run.id
      titles[#titles + 1] = (run.prompt:gsub('\n.*', ''))
    end
  end
  if #ids == 0 then
    return vim.notify('Outrigger: no run has failed or was cancelled; there is nothing to clean')
  end
  local function clean(preview, force, done)
    client_module.request(
      client,
      'outrigger/task/clean',
      { runIds = ids, preview = preview, force = force },
      function(result)
        done({ { run_id = table.concat(ids, ', '), title = table.concat(titles, '; '), files = result.files } })
      end
    )
  end
  clean(true, false, function(parts)
    local left = count(parts, { left = true })
    if count(parts, writes) + left == 0 then
      return vim.notify('Outrigger: there is nothing to take back')
    end
    local close =
      show(M.report('Nothing has been touched yet. Cleaning up after runs that did not succeed would do this:', parts))
    local items = {}
    if count(parts, writes) > 0 then
      items[#items + 1] = { label = 'Clean up all of this', force = false }
    end
    if left > 0 then
      -- What is there is kept, so that it can be brought back.
      items[#items + 1] = { label = 'Also where it was edited since: as before the runs', force = true }
    end
    items[#items + 1] = { label = 'Nothing' }
    choose(items, 'Clean this up?', function(item)
      close()
      if item and item.force ~= nil then
        clean(false, item.force, function(results)
          tell_result(client, results)
        end)
      end
    end)
  end)
end

return M
