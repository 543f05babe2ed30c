-- Taking back what runs did: a preview first, all or some of it, and what the user wrote since stays.
local t = require('harness')
local p = require('project')
local w = require('watch')

local TEXT = 'eins\nzwei\ndrei\nvier\nfünf\nsechs\nsieben\nacht\n'

--- A run that edited an open file in two places and a closed one, and made a third.
local function done(ending)
  w.reset()
  local project = p.new({ ['src/lib.rs'] = '', ['offen.txt'] = TEXT, ['zu.txt'] = TEXT })
  p.enter(project)
  local buffer = p.open(project, 'offen.txt')
  local model = p.script(project, 'undo', {
    p.call('c1', 'read', { path = 'offen.txt' }),
    p.call('c2', 'edit', {
      path = 'offen.txt',
      edits = { { old = 'zwei\n', new = 'ZWEI 漢字\n' }, { old = 'sieben\n', new = 'SIEBEN\nund mehr\n' } },
    }),
    p.call('c3', 'read', { path = 'zu.txt' }),
    p.call('c4', 'edit', { path = 'zu.txt', edits = { { old = 'eins\n', new = 'EINS\n' } } }),
    p.call('c5', 'write', { path = 'neu/größe.txt', content = 'neu\n' }),
    ending or p.say('Fertig.'),
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' los')
  return project, buffer
end

local function message(text)
  return t.wait('the message ' .. text .. '; messages: ' .. vim.inspect(w.seen.messages), function()
    return table.concat(w.seen.messages, '\n'):find(text, 1, true)
  end)
end

--- What a preview shows while it asks.
local function previewed(command, pick)
  local shown
  t.with(vim.ui, 'select', function(items, options, finish)
    shown = { text = w.text(0), prompt = options.prompt, labels = vim.tbl_map(options.format_item, items) }
    for index, label in ipairs(shown.labels) do
      if label:find(pick, 1, true) then
        return finish(items[index], index)
      end
    end
    error(vim.inspect(shown.labels))
  end, function()
    vim.cmd(command)
    t.wait('the preview', function()
      return shown
    end)
  end)
  return shown
end

t.test('changes are a quickfix list, each part at its line', function()
  local project = done()
  t.equal('succeeded', (w.ended()))
  vim.cmd('Outrigger changes')
  t.wait('the list', function()
    return vim.bo.buftype == 'quickfix'
  end)
  local found = vim.tbl_map(function(item)
    return { vim.fs.relpath(project.root, vim.api.nvim_buf_get_name(item.bufnr)), item.lnum, item.text }
  end, vim.fn.getqflist())
  t.equal({
    { 'neu/größe.txt', 1, 'created' },
    { 'offen.txt', 2, '+1 -1  ZWEI 漢字' },
    { 'offen.txt', 7, '+2 -1  SIEBEN' },
    { 'zu.txt', 1, '+1 -1  EINS' },
  }, found)
  vim.cmd('cclose')
  p.leave()
end)

t.test('a revert shows first what it would do; choosing nothing touches nothing; what was typed since stays', function()
  local project, buffer = done()
  t.equal('succeeded', (w.ended()))
  local run = require('outrigger.runs').all()[1]
  vim.api.nvim_buf_set_lines(buffer, 3, 4, true, { 'VIER von mir 😀' })
  local before = {
    w.text(buffer),
    t.read(project.root .. '/offen.txt'),
    t.read(project.root .. '/zu.txt'),
    t.read(project.root .. '/neu/größe.txt'),
  }
  local windows = #vim.api.nvim_list_wins()
  local shown = previewed('Outrigger revert ' .. run.id, 'Nothing')
  t.contains('Nothing has been touched yet', shown.text)
  t.contains('offen.txt  as before, with your edits since', shown.text)
  t.contains('zu.txt  as before', shown.text)
  t.contains('neu/größe.txt  removed', shown.text)
  t.contains('-ZWEI 漢字', shown.text)
  t.equal({ 'Revert all of this', 'Only neu/größe.txt', 'Only offen.txt', 'Only zu.txt', 'Nothing' }, shown.labels)
  t.equal(windows, #vim.api.nvim_list_wins())
  t.equal(before, {
    w.text(buffer),
    t.read(project.root .. '/offen.txt'),
    t.read(project.root .. '/zu.txt'),
    t.read(project.root .. '/neu/größe.txt'),
  })

  previewed('Outrigger revert ' .. run.id, 'Only zu.txt')
  message('1 taken back, 0 left')
  t.equal(TEXT, t.read(project.root .. '/zu.txt'))
  t.equal(before[4], t.read(project.root .. '/neu/größe.txt'))

  -- By its path, completed from the run's own.
  t.equal(
    { 'neu/größe.txt' },
    require('outrigger.commands').complete('neu', 'Outrigger revert ' .. run.id .. ' neu', 99)
  )
  w.reset()
  previewed('Outrigger revert ' .. run.id .. ' neu/größe.txt', 'Revert all')
  message('1 taken back, 0 left')
  t.equal(nil, t.read(project.root .. '/neu/größe.txt'))

  w.reset()
  previewed('Outrigger revert', 'Revert all')
  message('1 taken back, 0 left')
  local expected = TEXT:gsub('vier', 'VIER von mir 😀')
  t.equal(expected, w.text(buffer))
  w.no_file_changed_on_disk()
  vim.cmd('silent undo')
  t.contains('ZWEI 漢字', w.text(buffer), 'the revert is a step of undo')
  w.reset()
  vim.cmd('silent redo')
  vim.cmd('Outrigger revert ' .. run.id)
  message('nothing to take back')
  p.leave()
end)

t.test(
  'clean takes back what a cancelled run has left, after showing it, and nothing of a run that succeeded',
  function()
    local project, buffer = done({ emit = { { text = 'nie' } }, pace = { ttft_ms = 600000 } })
    t.wait('the third change', function()
      return #w.recorded('changeMade') == 3
    end)
    vim.cmd('Outrigger cancel')
    t.equal('cancelled', (w.ended()))
    local shown = previewed('Outrigger clean', 'Nothing')
    t.contains('Cleaning up', shown.text)
    t.equal('neu\n', t.read(project.root .. '/neu/größe.txt'))
    previewed('Outrigger clean', 'Clean up all')
    message('3 taken back, 0 left')
    t.equal(nil, t.read(project.root .. '/neu/größe.txt'))
    t.equal(TEXT, t.read(project.root .. '/zu.txt'))
    t.equal(TEXT, t.read(project.root .. '/offen.txt'))
    t.equal(TEXT, w.text(buffer))
    w.no_file_changed_on_disk()
    p.leave()
  end
)

t.test('clean leaves what was edited over since, unless the user says otherwise', function()
  local project = done({ emit = { { text = 'nie' } }, pace = { ttft_ms = 600000 } })
  t.wait('the third change', function()
    return #w.recorded('changeMade') == 3
  end)
  vim.cmd('Outrigger cancel')
  t.equal('cancelled', (w.ended()))
  local mine = TEXT:gsub('eins\n', 'EINS von mir 漢字\n')
  t.write(project.root .. '/zu.txt', mine)
  local shown = previewed('Outrigger clean', 'Nothing')
  t.contains('zu.txt  LEFT as it is', shown.text)
  t.equal({ 'Clean up all of this', 'Also where it was edited since: as before the runs', 'Nothing' }, shown.labels)
  previewed('Outrigger clean', 'Clean up all')
  message('2 taken back, 1 left')
  t.equal(mine, t.read(project.root .. '/zu.txt'))
  vim.cmd('silent! only')
  w.reset()
  previewed('Outrigger clean', 'Also where')
  message('1 taken back, 0 left')
  t.equal(TEXT, t.read(project.root .. '/zu.txt'))
  p.leave()
end)
