-- What the commands say to the agent and to the user, with the real sidecar.
local t = require('harness')
local p = require('project')
local w = require('watch')

--- Two problems on one line, one on another, by whom they may be.
local function problems(buffer)
  local namespace = vim.api.nvim_create_namespace('tests.lineal')
  local function problem(row, first, last, message, code)
    return { lnum = row, col = first, end_lnum = row, end_col = last, message = message, code = code, source = 'lineal' }
  end
  vim.diagnostic.set(namespace, buffer, {
    problem(1, 9, 13, 'zu kurz', 'L1'),
    problem(1, 21, 25, 'zu lang', 'L2'),
    problem(2, 0, 4, 'zu alt', 'L3'),
  })
end

--- The prompt of the run that this starts, which says something and ends.
local function prompt_of(project, act)
  w.reset()
  local model = p.script(project, 'prompt', { p.say('Gut.') })
  require('outrigger.config').set({ model = model })
  act()
  w.ended()
  require('outrigger.config').set({})
  return w.recorded('runStarted')[1].spec.prompt
end

t.test(
  'fix is about the diagnostic under the cursor, else those of the line, or of the range and the selection',
  function()
    local project = p.new({ ['src/lib.rs'] = '', ['maß.txt'] = 'eins\nGröße 漢字 und drei\nvier\n' })
    p.enter(project)
    local buffer = p.open(project, 'maß.txt')
    problems(buffer)
    local function fix(row, column, command)
      return prompt_of(project, function()
        vim.api.nvim_win_set_cursor(0, { row, column })
        vim.cmd(command)
      end)
    end
    local under = fix(2, 10, 'Outrigger fix')
    -- Columns for people: characters, counted from one.
    t.contains('maß.txt:2:8: lineal: L1 zu kurz', under)
    t.equal(nil, under:find('zu lang', 1, true))
    local line = fix(2, 0, 'Outrigger fix und nur das 漢字')
    t.contains('zu kurz', line)
    t.contains('zu lang', line)
    t.contains('und nur das 漢字', line)
    t.equal(nil, line:find('zu alt', 1, true))
    local range = fix(1, 0, '1,3Outrigger fix')
    t.contains('zu kurz', range)
    t.contains('zu alt', range)
    local selected = prompt_of(project, function()
      vim.keymap.set('x', 'gF', '<Plug>(outrigger-fix)')
      vim.api.nvim_win_set_cursor(0, { 3, 0 })
      vim.api.nvim_feedkeys('VkgF', 'x', false)
    end)
    t.contains('zu kurz', selected)
    t.contains('zu alt', selected)
    vim.keymap.del('x', 'gF')

    w.reset()
    vim.api.nvim_win_set_cursor(0, { 1, 0 })
    vim.cmd('Outrigger fix')
    t.contains('there is no diagnostic on this line', w.seen.messages[1])
    p.leave()
  end
)

t.test('a run about a visual selection gets its characters, and what to do is asked for', function()
  local project = p.new({ ['src/lib.rs'] = '', ['maß.txt'] = 'eins\nGröße 漢字 und drei\nvier ```\n' })
  p.enter(project)
  p.open(project, 'maß.txt')
  local prompt = prompt_of(project, function()
    vim.keymap.set('x', 'gR', '<Plug>(outrigger-run)')
    vim.api.nvim_win_set_cursor(0, { 2, 8 })
    w.answering({ 'Was heißt das?' }, function()
      vim.api.nvim_feedkeys('vlgR', 'x', false)
    end)
    vim.keymap.del('x', 'gR')
  end)
  t.equal('Was heißt das?\n\nFrom maß.txt, lines 2-2:\n```text\n漢字\n```', prompt)
  local fenced = prompt_of(project, function()
    vim.cmd('3Outrigger run Und das?')
  end)
  t.contains('````text\nvier ```\n````', fenced)
  p.leave()
end)

t.test('the models that a run can be started with are completed', function()
  vim.env.ANTHROPIC_API_KEY = 'nicht echt'
  local project = p.new({ ['src/lib.rs'] = '' })
  p.enter(project)
  p.open(project, 'src/lib.rs')
  vim.env.ANTHROPIC_API_KEY = nil
  local found = vim.fn.getcompletion('Outrigger run ++model=', 'cmdline')
  t.equal(true, vim.list_contains(found, '++model=scripted:'))
  local hosted = vim.tbl_filter(function(name)
    return vim.startswith(name, '++model=anthropic/')
  end, found)
  t.equal(true, #hosted > 0, vim.inspect(found))
  t.equal(hosted, vim.fn.getcompletion('Outrigger run ++model=anthropic/', 'cmdline'))
  p.leave()
end)

t.test('every subcommand without anything to do says so, and none fails', function()
  local project = p.new({ ['src/lib.rs'] = '' })
  p.enter(project)
  p.open(project, 'src/lib.rs')
  for _, row in ipairs({
    { 'answer nichts', 'no such question is open: nichts' },
    { 'diff', 'no such overwrite is asked about' },
    { 'accept', 'no diff is open' },
    { 'keep', 'no diff is open' },
    { 'hunk', 'use :Outrigger hunk take' },
    { 'hunk take', 'not in the right side of a diff' },
    { 'steer nichts', 'no such run is going on' },
    { 'pause', 'no such run is going on' },
    { 'log nichts', 'no such run is known: nichts' },
    { 'questions', 'nothing is asked' },
    { 'nichts', 'there is no subcommand `nichts`; there are accept, answer' },
  }) do
    w.reset()
    vim.cmd('Outrigger ' .. row[1])
    t.contains(row[2], w.seen.messages[1])
  end
  p.leave()
end)

t.test('checkhealth says which model, gates and trust hold in this workspace', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = 'pub fn eins() -> u32 {\n    1\n}\n' })
  t.write(project.root .. '/outrigger.toml', '[policy]\nmerge = "ask"\n')
  local model = p.script(project, 'health', {
    p.call('c1', 'read', { path = 'src/lib.rs' }),
    p.call('c2', 'edit', { path = 'src/lib.rs', edits = { { old = '    1\n', new = '    2\n' } } }),
    p.say('Fertig.'),
  })
  vim.env.OUTRIGGER_MODEL = model
  p.enter(project)
  p.open(project, 'src/lib.rs')
  local function report()
    vim.cmd('silent checkhealth outrigger')
    local text = w.text(0)
    vim.cmd('silent! bwipeout!')
    return text
  end
  local before = report()
  t.contains('running in ' .. project.root, before)
  t.contains('protocol version 1', before)
  t.contains(('`%s`'):format(model), before)
  t.contains('commands that an agent wants to run: ', before)
  t.contains('nobody has trusted this folder', before)
  w.answering({ 'Trust it' }, function()
    vim.cmd('Outrigger trust')
  end)
  t.equal('outrigger.toml', vim.fn.expand('%:t'))
  vim.cmd('close')
  t.wait('the trust', function()
    return table.concat(w.seen.messages, '\n'):find('trusted, until its files change', 1, true)
  end)
  local trusted = report()
  t.contains('set by the workspace itself: policy.merge', trusted)
  t.equal(nil, trusted:find('nobody has trusted', 1, true))
  t.equal(nil, before:find('in the newest run', 1, true))
  vim.cmd('Outrigger run los')
  t.equal('succeeded', (w.ended()))
  vim.env.OUTRIGGER_MODEL = nil
  local after = report()
  t.equal(true, after:find('OK cargo[%w-]*: pass, in the newest run') ~= nil, after)
  t.contains('no model is configured', after)
  p.leave()
end)
