-- Tasks: made of words, places, problems and lists, shown in the panel, started as runs.
local t = require('harness')
local p = require('project')
local w = require('watch')

local function tasks()
  return require('outrigger.tasks').all(vim.lsp.get_clients({ name = 'outrigger' })[1].id)
end

---@param count integer
local function there_are(count)
  t.wait(count .. ' tasks; messages: ' .. vim.inspect(w.seen.messages), function()
    return #tasks() == count
  end)
end

local function row_of(text)
  return t.wait('the panel to show ' .. text, function()
    for row, line in ipairs(vim.api.nvim_buf_get_lines(vim.fn.bufnr('outrigger://panel'), 0, -1, true)) do
      if line:find(text, 1, true) then
        return row
      end
    end
  end)
end

t.test('tasks are made of words, of a range, of a diagnostic and of a list, and are in the panel', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = '', ['maß.txt'] = 'eins\nTODO: größer\ndrei\n' })
  p.enter(project)
  local buffer = p.open(project, 'maß.txt')
  vim.cmd('Outrigger task add Alles 漢字 machen')
  there_are(1)
  vim.cmd('2Outrigger task add mach das größer')
  there_are(2)
  vim.diagnostic.set(vim.api.nvim_create_namespace('tests.lineal'), buffer, {
    { lnum = 2, col = 0, end_lnum = 2, end_col = 4, message = 'zu alt', code = 'L3', source = 'lineal' },
  })
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  vim.cmd('Outrigger! task add')
  there_are(3)
  vim.cmd('new TODO.md')
  vim.api.nvim_buf_set_lines(0, 0, -1, true, { '- [x] war schon', '- [ ] nicht gespeichert 😀' })
  vim.cmd('Outrigger task import')
  there_are(4)
  vim.cmd('bwipeout!')
  local found = vim.tbl_map(function(task)
    return { task.title, task.origin.type, task.origin.path, task.origin.line or task.origin.firstLine }
  end, tasks())
  t.equal({ 'Alles 漢字 machen', 'prompt' }, found[1])
  t.equal({ 'mach das größer', 'selection', 'maß.txt', 2 }, found[2])
  t.equal('TODO: größer\n', tasks()[2].origin.text)
  t.equal({ 'diagnostic', 'maß.txt', 3 }, vim.list_slice(found[3], 2))
  t.contains('zu alt', found[3][1])
  t.equal({ 'nicht gespeichert 😀', 'list' }, found[4])

  vim.cmd('Outrigger panel')
  row_of('Tasks (4)')
  vim.api.nvim_win_set_cursor(0, { row_of('mach das größer'), 0 })
  vim.api.nvim_feedkeys(vim.keycode('<CR>'), 'xt', false)
  t.equal({ 'maß.txt', 2 }, { vim.fn.expand('%:t'), vim.api.nvim_win_get_cursor(0)[1] })
  p.leave()
end)

t.test('a task is started as a run, from the panel too, and stands where its run put it', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = '', ['text.txt'] = 'eins\n' })
  p.enter(project)
  local buffer = p.open(project, 'text.txt')
  local model = p.script(project, 'task', {
    p.call('c1', 'read', { path = 'text.txt' }, { last = { role = 'user', contains = { 'Zahlen groß' } } }),
    p.call('c2', 'edit', { path = 'text.txt', edits = { { old = 'eins', new = 'EINS' } } }),
    p.say('Fertig.'),
  })
  require('outrigger.config').set({ model = model })
  vim.cmd('Outrigger task add Zahlen groß')
  there_are(1)
  local id = tasks()[1].id
  t.equal({ id }, vim.fn.getcompletion('Outrigger task start ', 'cmdline'))
  vim.cmd('Outrigger task ready ' .. id)
  t.wait('ready', function()
    return tasks()[1].state == 'ready'
  end)
  vim.cmd('Outrigger panel')
  vim.api.nvim_win_set_cursor(0, { row_of('Zahlen groß'), 0 })
  vim.api.nvim_feedkeys('S', 'xt', false)
  t.equal('succeeded', (w.ended()))
  t.equal('EINS\n', w.text(buffer))
  t.wait('done', function()
    return tasks()[1].state == 'done'
  end)
  t.wait('the task to leave the panel', function()
    local text = w.text(vim.fn.bufnr('outrigger://panel'))
    return not text:find('Tasks (', 1, true)
  end)
  require('outrigger.config').set({})
  p.leave()
end)
