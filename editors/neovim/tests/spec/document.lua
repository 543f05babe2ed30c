-- What the server may do with open buffers: edits and saves, against a server inside this Neovim.
local t = require('harness')
local server_of = require('server')
local edit = require('outrigger.edit')

--- A file in a folder of its own, open, with a server attached.
local function open(name, text)
  local root = t.folder()
  local path = root .. '/' .. name
  t.write(path, text)
  local server = server_of.start(root)
  vim.cmd.edit(vim.fn.fnameescape(path))
  local buffer = vim.api.nvim_get_current_buf()
  t.wait('the server on ' .. name, function()
    return server.client.attached_buffers[buffer]
  end)
  return { server = server, path = path, buffer = buffer, uri = vim.uri_from_fname(path), root = root }
end

local function change(opened, edits, version)
  return {
    edit = {
      documentChanges = {
        {
          textDocument = { uri = opened.uri, version = version or vim.lsp.util.buf_versions[opened.buffer] },
          edits = edits,
        },
      },
    },
  }
end

local function replace(first, first_column, last, last_column, text)
  return {
    range = { start = { line = first, character = first_column }, ['end'] = { line = last, character = last_column } },
    newText = text,
  }
end

local function apply(opened, edits, version)
  return (opened.server.ask('workspace/applyEdit', change(opened, edits, version)))
end

local function save(opened)
  return (opened.server.ask('outrigger/document/save', { uri = opened.uri }))
end

--- Files that Neovim says have changed on disk, while `body` runs and when it looks afterwards.
local function changed_on_disk(body)
  local changed = {}
  local autocmd = vim.api.nvim_create_autocmd('FileChangedShell', {
    callback = function(event)
      table.insert(changed, vim.fs.basename(event.file))
      vim.v.fcs_choice = ''
    end,
  })
  body()
  vim.cmd('checktime')
  vim.api.nvim_del_autocmd(autocmd)
  return changed
end

t.test('every file of the workspace is told to the server, with a filetype or without', function()
  local opened = open('LIESMICH 漢字', 'é\n')
  t.equal('', vim.bo[opened.buffer].filetype)
  t.equal('é\n', server_of.text(opened.server, opened.uri))
  local first = opened.server.sent[1]
  t.equal(
    { version = 1, events = true, questions = true, save = true },
    first.params.capabilities.experimental.outrigger
  )
  server_of.stop(opened.server)
end)

t.test('an edit arrives at the server at once, and the save gives exactly its bytes', function()
  local rows = {
    { 'unix', 'a\nb\n', { replace(0, 0, 0, 1, 'ä漢😀') } },
    { 'dos', 'a\r\nb\r\n', { replace(0, 0, 0, 1, 'x\r\ny') } },
    { 'byte order mark', '\239\187\191a\nb\n', { replace(0, 0, 0, 1, 'x') } },
    { 'no end of the last line', 'a\nb', { replace(0, 0, 0, 1, 'x') } },
    { 'the end of the last line comes', 'a\nb', { replace(1, 1, 1, 1, '\n') } },
    { 'the end of the last line goes', 'a\nb\n', { replace(1, 1, 2, 0, '') } },
    { 'all goes', 'a\nb\n', { replace(0, 0, 2, 0, '') } },
  }
  for _, row in ipairs(rows) do
    local name, text, edits = unpack(row)
    local opened = open('text', text)
    local mark = text:match('^\239\187\191') or ''
    local expected = require('reference').apply(text:sub(#mark + 1), edits)
    local changed = changed_on_disk(function()
      t.equal({ applied = true }, apply(opened, edits), name)
      t.equal(expected, server_of.text(opened.server, opened.uri), name .. ', at the server')
      t.equal({ saved = true }, save(opened), name)
    end)
    t.equal({}, changed)
    t.equal(mark .. expected, t.read(opened.path), name .. ', on disk')
    t.equal(false, vim.bo[opened.buffer].modified)
    t.equal(true, vim.bo[opened.buffer].fixendofline, 'the option is as it was')
    t.equal('textDocument/didSave', opened.server.sent[#opened.server.sent].method, name)
    -- What the user types afterwards arrives as well.
    vim.api.nvim_buf_set_lines(opened.buffer, 0, 0, true, { 'später' })
    require('outrigger.document').flush(opened.server.client)
    t.equal(edit.joined(edit.text_of(opened.buffer)), server_of.text(opened.server, opened.uri), name .. ', typed on')
    server_of.stop(opened.server)
  end
end)

t.test('an edit for another version is refused and changes nothing', function()
  local opened = open('text', 'a\n')
  local version = vim.lsp.util.buf_versions[opened.buffer]
  vim.api.nvim_buf_set_lines(opened.buffer, 0, 1, true, { 'typed' })
  local result = apply(opened, { replace(0, 0, 0, 1, 'x') }, version)
  t.equal(false, result.applied)
  t.contains('changed meanwhile', result.failureReason)
  t.equal({ 'typed' }, vim.api.nvim_buf_get_lines(opened.buffer, 0, -1, true))
  server_of.stop(opened.server)
end)

t.test('edits that a buffer does not take are refused, all of them', function()
  local opened = open('text', 'a\n')
  vim.bo[opened.buffer].readonly = true
  t.contains('read-only', apply(opened, { replace(0, 0, 0, 1, 'x') }).failureReason)
  vim.bo[opened.buffer].readonly = false
  vim.bo[opened.buffer].modifiable = false
  t.contains('not modifiable', apply(opened, { replace(0, 0, 0, 1, 'x') }).failureReason)
  vim.bo[opened.buffer].modifiable = true
  local both = change(opened, { replace(0, 0, 0, 1, 'x') })
  table.insert(both.edit.documentChanges, {
    textDocument = { uri = vim.uri_from_fname(opened.root .. '/not open'), version = 0 },
    edits = { replace(0, 0, 0, 0, 'x') },
  })
  local result = opened.server.ask('workspace/applyEdit', both)
  t.equal({ false, 1 }, { result.applied, result.failedChange })
  t.contains('not open', result.failureReason)
  t.equal({ 'a' }, vim.api.nvim_buf_get_lines(opened.buffer, 0, -1, true))
  t.equal({ 'text' }, vim.tbl_map(vim.fs.basename, vim.tbl_map(vim.api.nvim_buf_get_name, vim.api.nvim_list_bufs())))
  server_of.stop(opened.server)
end)

t.test('a save over a file that was changed by someone else is refused; theirs and mine stay', function()
  for _, autoread in ipairs({ true, false }) do
    vim.o.autoread = autoread
    local opened = open('text', 'a\n')
    vim.api.nvim_buf_set_lines(opened.buffer, 0, 1, true, { 'mine' })
    t.write(opened.path, 'theirs, and longer\n')
    -- Even a user who reloads whatever changed on disk loses no unsaved text to our save.
    local autocmd = vim.api.nvim_create_autocmd('FileChangedShell', {
      callback = function()
        vim.v.fcs_choice = 'reload'
      end,
    })
    local result = save(opened)
    vim.api.nvim_del_autocmd(autocmd)
    t.equal(false, result.saved)
    t.contains('changed on disk', result.error)
    t.equal({ 'mine' }, vim.api.nvim_buf_get_lines(opened.buffer, 0, -1, true))
    t.equal('theirs, and longer\n', t.read(opened.path))
    t.equal(true, vim.bo[opened.buffer].modified)
    server_of.stop(opened.server)
  end
  vim.o.autoread = true
end)

t.test('a save that cannot be made says why, and does not ask', function()
  local opened = open('text', 'a\n')
  vim.api.nvim_buf_set_lines(opened.buffer, 0, 1, true, { 'mine' })
  vim.bo[opened.buffer].readonly = true
  t.contains('read-only', save(opened).error)
  vim.bo[opened.buffer].readonly = false
  os.remove(opened.path)
  t.contains('deleted on disk', save(opened).error)
  vim.fn.mkdir(opened.path)
  t.equal(false, save(opened).saved)
  t.equal({ 'mine' }, vim.api.nvim_buf_get_lines(opened.buffer, 0, -1, true))
  local elsewhere = opened.server.ask('outrigger/document/save', { uri = vim.uri_from_fname(opened.root .. '/nie') })
  t.contains('not open', elsewhere.error)
  server_of.stop(opened.server)
end)

t.test('a new file whose folder is not there yet is saved', function()
  local opened = open('text', 'a\n')
  local path = opened.root .. '/neu/ordner/datei'
  vim.cmd.edit(vim.fn.fnameescape(path))
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, { 'neu' })
  t.equal({ saved = true }, (opened.server.ask('outrigger/document/save', { uri = vim.uri_from_fname(path) })))
  t.equal('neu\n', t.read(path))
  server_of.stop(opened.server)
end)

t.test('a save runs what comes after a write, not what changes the text before it', function()
  local opened = open('text', 'a\n')
  local ran = {}
  local group = vim.api.nvim_create_augroup('test', {})
  for _, event in ipairs({ 'BufWritePre', 'BufWritePost' }) do
    vim.api.nvim_create_autocmd(event, {
      group = group,
      callback = function()
        table.insert(ran, event)
        if event == 'BufWritePre' then
          vim.api.nvim_buf_set_lines(0, 0, -1, true, { 'formatted' })
        end
      end,
    })
  end
  vim.cmd.edit(vim.fn.fnameescape(opened.root .. '/other'))
  vim.fn.setreg('#', opened.path)
  local here, alternate = vim.api.nvim_get_current_buf(), vim.fn.bufnr('#')
  -- Hidden: not in any window.
  vim.api.nvim_buf_set_lines(opened.buffer, 0, 1, true, { 'mine' })
  local marks = { vim.api.nvim_buf_get_mark(opened.buffer, '['), vim.api.nvim_buf_get_mark(opened.buffer, ']') }
  t.equal({ saved = true }, save(opened))
  vim.api.nvim_del_augroup_by_id(group)
  t.equal({ 'BufWritePost' }, ran)
  t.equal('mine\n', t.read(opened.path))
  t.equal({ here, alternate }, { vim.api.nvim_get_current_buf(), vim.fn.bufnr('#') })
  t.equal(marks, { vim.api.nvim_buf_get_mark(opened.buffer, '['), vim.api.nvim_buf_get_mark(opened.buffer, ']') })
  t.equal('', vim.o.eventignore)
  server_of.stop(opened.server)
end)

t.test('a failing BufWritePost does not make a written file unsaved', function()
  local opened = open('text', 'a\n')
  local autocmd = vim.api.nvim_create_autocmd('BufWritePost', {
    callback = function()
      error('broken plugin')
    end,
  })
  vim.api.nvim_buf_set_lines(opened.buffer, 0, 1, true, { 'mine' })
  t.equal({ saved = true }, save(opened))
  vim.api.nvim_del_autocmd(autocmd)
  t.equal('mine\n', t.read(opened.path))
  server_of.stop(opened.server)
end)

t.test('typing in Insert mode goes on through an edit and a save', function()
  local opened = open('text', 'eins\nzwei\n')
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  local result, saved
  vim.keymap.set('i', '<F2>', function()
    result = apply(opened, { replace(0, 0, 0, 0, 'null\n') })
    saved = save(opened)
  end)
  vim.api.nvim_feedkeys(vim.keycode('Adrei <F2>vier<Esc>'), 'xt', false)
  vim.keymap.del('i', '<F2>')
  t.equal({ { applied = true }, { saved = true } }, { result, saved })
  t.equal({ 'null', 'eins', 'zweidrei vier' }, vim.api.nvim_buf_get_lines(opened.buffer, 0, -1, true))
  t.equal('null\neins\nzweidrei \n', t.read(opened.path))
  t.equal(true, vim.bo[opened.buffer].modified)
  vim.cmd('silent undo')
  t.equal({ 'null', 'eins', 'zweidrei ' }, vim.api.nvim_buf_get_lines(opened.buffer, 0, -1, true))
  vim.cmd('silent undo')
  t.equal({ 'eins', 'zweidrei ' }, vim.api.nvim_buf_get_lines(opened.buffer, 0, -1, true))
  vim.cmd('silent undo')
  t.equal({ 'eins', 'zwei' }, vim.api.nvim_buf_get_lines(opened.buffer, 0, -1, true))
  server_of.stop(opened.server)
end)
