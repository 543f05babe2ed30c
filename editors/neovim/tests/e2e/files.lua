-- Files as they come: line ends, byte order marks, missing ends, empty files, changes by others, all kinds of options.
local t = require('harness')
local p = require('project')
local w = require('watch')

--- A run that edits or writes one file which is open and has no unsaved text.
local function run_on(path, text, turns, prepare)
  w.reset()
  local project = p.new({ ['src/lib.rs'] = '', [path] = text })
  p.enter(project)
  local buffer = p.open(project, path)
  if prepare then
    prepare(project, buffer)
  end
  turns[#turns + 1] = p.say('Fertig.')
  vim.cmd('Outrigger run ++model=' .. p.script(project, 'files', turns) .. ' los')
  return project, buffer, project.root .. '/' .. path
end

local function edit(path, old, new)
  return {
    p.call('c1', 'read', { path = path }),
    p.call('c2', 'edit', { path = path, edits = { { old = old, new = new } } }),
  }
end

local function write(path, content)
  return { p.call('c1', 'read', { path = path }), p.call('c2', 'write', { path = path, content = content }) }
end

for _, row in ipairs({
  { 'CRLF', 'eins\r\nzwei\r\n', 'eins\r\nZWEI\r\n' },
  { 'a byte order mark', '\239\187\191eins\nzwei\n', '\239\187\191eins\nZWEI\n' },
  { 'no end of the last line', 'eins\nzwei', 'eins\nZWEI' },
  { 'mixed line ends', 'eins\r\nzwei\ndrei\r\n', 'eins\r\nZWEI\ndrei\r\n' },
  { 'characters beyond the BMP', '😀\nzwei 😀\n', '😀\nZWEI 😀\n' },
}) do
  local name, before, after = unpack(row)
  t.test(('an edit of an open file with %s: no conflict, the right bytes'):format(name), function()
    local _, buffer, path = run_on('text.txt', before, edit('text.txt', 'zwei', 'ZWEI'))
    t.equal('succeeded', (w.ended()))
    t.equal(after, t.read(path))
    t.equal(false, vim.bo[buffer].modified)
    w.no_file_changed_on_disk()
    vim.cmd('silent edit!')
    t.equal(false, vim.bo[buffer].modified)
    p.leave()
  end)
end

for _, row in ipairs({
  { 'with an end over one without', 'eins\nzwei', 'eins\nzwei\ndrei\n' },
  { 'without an end over one with', 'eins\nzwei\n', 'eins' },
  { 'of nothing over something', 'eins\n', '' },
  { 'of something over nothing', '', 'eins 漢字\n' },
  { 'without an end over nothing', '', 'eins' },
}) do
  local name, before, after = unpack(row)
  t.test(('a write %s, while it is open'):format(name), function()
    local _, buffer, path = run_on('text.txt', before, write('text.txt', after))
    t.equal('succeeded', (w.ended()))
    t.equal(after, t.read(path))
    t.equal(false, vim.bo[buffer].modified)
    w.no_file_changed_on_disk()
    p.leave()
  end)
end

t.test('options that touch writing: autoread, hidden, undofile, swapfile, backup, either way', function()
  local defaults = {}
  for _, name in ipairs({ 'autoread', 'hidden', 'undofile', 'swapfile', 'backup', 'autowriteall' }) do
    defaults[name] = vim.o[name]
  end
  local folder = t.folder()
  vim.o.directory, vim.o.undodir, vim.o.backupdir = folder .. '//', folder, folder
  for _, value in ipairs({ true, false }) do
    for name in pairs(defaults) do
      vim.o[name] = value
    end
    local _, buffer, path = run_on(
      'text.txt',
      'eins\nzwei\n',
      edit('text.txt', 'zwei', 'ZWEI'),
      function(project, buffer)
        -- In the background, and not in any window.
        vim.bo[buffer].bufhidden = 'hide'
        vim.cmd.edit(project.root .. '/src/lib.rs')
      end
    )
    t.equal('succeeded', (w.ended()))
    t.equal('eins\nZWEI\n', t.read(path))
    t.equal('eins\nZWEI\n', w.text(buffer))
    w.no_file_changed_on_disk()
    p.leave()
  end
  for name, value in pairs(defaults) do
    vim.o[name] = value
  end
end)

t.test('a plugin that saves after each change does no harm', function()
  local autocmd = vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI' }, {
    callback = function()
      vim.cmd('silent! update')
    end,
  })
  local _, buffer, path = run_on('text.txt', 'eins\nzwei\n', edit('text.txt', 'zwei', 'ZWEI'))
  t.equal('succeeded', (w.ended()))
  vim.api.nvim_del_autocmd(autocmd)
  t.equal('eins\nZWEI\n', t.read(path))
  t.equal('eins\nZWEI\n', w.text(buffer))
  w.no_file_changed_on_disk()
  p.leave()
end)

t.test('a file that someone else changed on disk while it is open here: theirs is what the agent reads', function()
  local _, buffer, path = run_on('text.txt', 'eins\nzwei\n', {
    p.call('c1', 'read', { path = 'text.txt' }),
    p.call(
      'c2',
      'edit',
      { path = 'text.txt', edits = { { old = 'zwei', new = 'ZWEI' } } },
      p.told('c1', 'von anderen')
    ),
  }, function(project)
    t.write(project.root .. '/text.txt', 'eins\nzwei\nvon anderen\n')
  end)
  t.equal('succeeded', (w.ended()))
  t.equal('eins\nZWEI\nvon anderen\n', t.read(path))
  -- The buffer has no unsaved text, so Neovim may read the file again; nobody's text is lost.
  vim.cmd('silent edit!')
  t.equal('eins\nZWEI\nvon anderen\n', w.text(buffer))
  p.leave()
end)

t.test('unsaved text here and another text on disk: both are kept', function()
  local project, buffer, path = run_on('text.txt', 'eins\nzwei\n', {
    p.call('c1', 'read', { path = 'text.txt' }),
    p.call('c2', 'edit', { path = 'text.txt', edits = { { old = 'zwei', new = 'ZWEI' } } }),
  }, function(project, buffer)
    vim.api.nvim_buf_set_lines(buffer, 0, 0, true, { 'meins' })
    t.write(project.root .. '/text.txt', 'eins\nzwei\nvon anderen\n')
  end)
  local question = w.asked()
  t.equal('overwrite', question.kind.kind)
  t.equal('meins\neins\nzwei\n', w.text(buffer))
  t.equal('eins\nzwei\nvon anderen\n', t.read(path))
  w.answering({ 'Keep mine' }, function()
    vim.cmd('Outrigger answer')
  end)
  t.equal('succeeded', (w.ended()))
  t.equal('meins\neins\nzwei\n', w.text(buffer))
  t.equal('eins\nzwei\nvon anderen\n', t.read(path))
  t.equal(nil, vim.uv.fs_stat(project.root .. '/.outrigger'))
  p.leave()
end)

t.test('a file that someone else changes just before it is saved: theirs is not overwritten', function()
  local handlers = require('outrigger.handlers')
  local apply = handlers.apply_edit
  local path
  t.with(handlers, 'apply_edit', function(...)
    local result = apply(...)
    t.write(path, 'eins\nzwei\nvon anderen\n')
    return result
  end, function()
    local _, buffer
    _, buffer, path = run_on('text.txt', 'eins\nzwei\n', edit('text.txt', 'zwei', 'ZWEI'))
    w.ended()
    t.equal('eins\nzwei\nvon anderen\n', t.read(path))
    t.equal('eins\nZWEI\n', w.text(buffer))
    t.equal(true, vim.bo[buffer].modified)
    p.leave()
  end)
end)
