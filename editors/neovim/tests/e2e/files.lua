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

--- Options that touch writing and reading again, each either way, and a plugin that saves by itself.
local SWITCHES = { 'autoread', 'autowrite', 'hidden', 'swapfile', 'undofile', 'backup', 'autosave' }

--- Sets the options as the bits of a number say, and gives what takes that back.
local function with_switches(bits)
  local before, autosave = {}, nil
  for index, name in ipairs(SWITCHES) do
    local on = bit.band(bits, bit.lshift(1, index - 1)) ~= 0
    if name ~= 'autosave' then
      before[name] = vim.o[name]
      vim.o[name] = on
    elseif on then
      autosave = vim.api.nvim_create_autocmd({ 'TextChanged', 'TextChangedI', 'InsertLeave', 'FocusLost' }, {
        nested = true,
        callback = function()
          vim.cmd('silent! wall')
        end,
      })
    end
  end
  return function()
    for name, value in pairs(before) do
      vim.o[name] = value
    end
    if autosave then
      vim.api.nvim_del_autocmd(autosave)
    end
  end
end

--- The ways in which the options are set. A run waits for two seconds after the last key, so that not all 128 ways are
--- tried each time: these eight have every two options in all four ways. `OUTRIGGER_ALL_WAYS` tries all.
local function ways()
  local all = {}
  if os.getenv('OUTRIGGER_ALL_WAYS') then
    for bits = 0, 2 ^ #SWITCHES - 1 do
      table.insert(all, bits)
    end
    return all
  end
  for row = 0, 7 do
    local bits = 0
    -- The sums of each choice of the row's three digits are independent of each other, two by two.
    for column = 1, #SWITCHES do
      local chosen, odd = bit.band(row, column), 0
      while chosen > 0 do
        odd, chosen = bit.bxor(odd, bit.band(chosen, 1)), bit.rshift(chosen, 1)
      end
      bits = bits + odd * 2 ^ (column - 1)
    end
    table.insert(all, bits)
  end
  return all
end

t.test(
  'options that touch writing, in all ways by two: the buffer and the file are the same, nothing typed is lost',
  function()
    local folder = t.folder()
    vim.o.directory, vim.o.undodir, vim.o.backupdir = folder .. '//', folder, folder
    local project = p.new({ ['src/lib.rs'] = '' })
    p.enter(project)
    p.open(project, 'src/lib.rs')
    vim.o.updatecount = 1
    for _, bits in ipairs(ways()) do
      w.reset()
      local name = ('text-%d.txt'):format(bits)
      local path = project.root .. '/' .. name
      local before = ''
      for line = 1, 12 do
        before = before .. 'Zeile ' .. line .. '\n'
      end
      t.write(path, before)
      local take_back = with_switches(bits)
      local buffer = p.open(project, name)
      vim.api.nvim_buf_set_mark(buffer, 'm', 11, 3, {})
      -- Typed and, unless a plugin does it, not saved.
      w.type_keys('ggO<C-u>meins 漢字<Esc>')
      if vim.o.hidden then
        -- In the background, in no window.
        vim.cmd.edit(project.root .. '/src/lib.rs')
      else
        vim.cmd('split ' .. vim.fn.fnameescape(project.root .. '/src/lib.rs'))
      end
      local model = p.script(project, 'matrix-' .. bits, {
        p.call('c1', 'read', { path = name }),
        p.call('c2', 'edit', { path = name, edits = { { old = 'Zeile 8\n', new = 'ZEILE 8\nund neu\n' } } }),
        p.say('Fertig.'),
      })
      vim.cmd('Outrigger run ++model=' .. model .. ' los')
      t.equal('succeeded', (w.ended()), name)
      local mine = 'meins 漢字\n' .. before
      local expected = mine:gsub('Zeile 8\n', 'ZEILE 8\nund neu\n')
      t.equal(expected, t.read(path), name)
      t.equal(expected, w.text(buffer), name)
      t.equal(false, vim.bo[buffer].modified, name)
      t.equal({ 13, 3 }, vim.api.nvim_buf_get_mark(buffer, 'm'), name)
      w.no_file_changed_on_disk()
      vim.api.nvim_buf_call(buffer, function()
        vim.cmd('silent undo')
      end)
      t.equal(mine, w.text(buffer), name .. ': the change is one step of undo')
      take_back()
      vim.cmd('silent! only')
      vim.cmd('silent! bwipeout! ' .. buffer)
    end
    p.leave()
  end
)

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
