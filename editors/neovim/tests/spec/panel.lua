-- The panel, the log and the commands, fed by a server inside this Neovim.
local t = require('harness')
local server_of = require('server')

local function record(run, seq, event)
  return {
    runId = run,
    record = { seq = seq, at = 1796077801000 + seq, mono = seq, kind = 'message', v = 1, event = event },
  }
end

local function start(prompt)
  return {
    type = 'runStarted',
    spec = { prompt = prompt, engine = 'react', model = 'scripted:demo', policy = {}, budget = {} },
  }
end

local count = 0

--- A run of its own in a workspace of its own, with the panel open beside a file.
local function panel(replies)
  count = count + 1
  local root = t.folder()
  t.write(root .. '/src/maß.rs', 'eins\nzwei 漢字\ndrei\n')
  local server = server_of.start(root, replies)
  vim.cmd.edit(vim.fn.fnameescape(root .. '/src/maß.rs'))
  vim.cmd('Outrigger panel')
  local case =
    { root = root, server = server, run = 'rpanel' .. count, seq = 0, buffer = vim.api.nvim_get_current_buf() }
  function case.tell(event)
    case.seq = case.seq + 1
    server.tell('outrigger/run/event', record(case.run, case.seq, event))
  end
  function case.ask(question)
    server.tell('outrigger/question/opened', { question = question })
  end
  function case.lines()
    return vim.api.nvim_buf_get_lines(case.buffer, 0, -1, true)
  end
  function case.row(text)
    for row, line in ipairs(case.lines()) do
      if line:find(text, 1, true) then
        return row
      end
    end
  end
  function case.shows(text)
    return t.wait('the panel to show ' .. text .. ': ' .. vim.inspect(case.lines()), function()
      return case.row(text)
    end, 3000)
  end
  function case.stop()
    server_of.stop(server)
  end
  return case
end

local function blocker(case, id)
  local at = { line = 1, utf8 = 5, utf16 = 5, utf32 = 5 }
  return {
    id = id,
    run = case.run,
    title = 'Wie groß?',
    detail = '',
    place = { path = 'src/maß.rs', range = { start = at, ['end'] = at } },
    kind = { kind = 'blocker', reason = 'asked' },
    choices = { { id = '1', label = 'groß', effect = '' }, { id = 'stopRun', label = 'Stop the run', effect = '' } },
    freeText = true,
    openedAt = 1,
    state = { state = 'open' },
  }
end

t.test('the panel shows a run as it goes on, and stays on the line that is read', function()
  local case = panel()
  case.tell(start('Mach es größer\nund schöner'))
  case.shows('queued  Mach es größer')
  case.tell({
    type = 'statusChanged',
    from = 'queued',
    to = 'executing',
    waiting = { ['for'] = 'model', detail = 'scripted:demo', since = 1 },
  })
  case.shows('executing  Mach es größer – scripted:demo')
  case.tell({
    type = 'planUpdated',
    items = { { title = 'lesen', state = 'done' }, { title = 'schreiben', state = 'in_progress' } },
  })
  case.shows('✓ lesen')
  local plan = case.row('▸ schreiben')
  vim.api.nvim_win_set_cursor(0, { plan, 4 })
  -- What comes above the cursor moves it along with its line.
  case.ask(blocker(case, case.run .. '.q1'))
  local row = case.shows('? src/maß.rs:2: Wie groß?')
  t.equal({ case.row('▸ schreiben'), 4 }, vim.api.nvim_win_get_cursor(0))
  t.equal(true, case.row('▸ schreiben') > plan)
  case.tell({ type = 'changeMade', change = 1, path = 'src/maß.rs', after = 'x', added = 3, removed = 1 })
  case.tell({ type = 'changeMade', change = 2, path = 'src/maß.rs', before = 'x', after = 'y', added = 1, removed = 1 })
  case.shows('src/maß.rs  +4 -2')
  case.tell({
    type = 'gatesReported',
    round = 1,
    reports = {
      {
        gate = 'cargo-check',
        outcome = 'pass',
        command = {},
        durationMs = 1,
        findings = {},
        notes = {},
        partial = false,
      },
      {
        gate = 'ruff',
        outcome = 'missing',
        command = {},
        durationMs = 1,
        findings = {},
        notes = { 'there is no ruff; install it' },
        partial = false,
      },
    },
  })
  case.shows('! ruff – there is no ruff; install it')
  t.equal(true, case.row('✓ cargo-check') ~= nil)
  case.tell({ type = 'toolRequested', call = 'c1', name = 'edit', summary = 'src/maß.rs' })
  case.tell({ type = 'toolFailed', call = 'c1', error = 'nein' })
  case.shows('✗ edit src/maß.rs')
  t.equal(case.row('▸ schreiben'), vim.api.nvim_win_get_cursor(0)[1])

  -- A fold that the user closed stays closed.
  vim.cmd('normal! zc')
  local folded = vim.fn.foldclosed('.')
  t.equal(case.row('Plan (2)'), folded)
  case.tell({ type = 'toolRequested', call = 'c2', name = 'read', summary = 'später' })
  case.shows('· read später')
  t.equal(case.row('Plan (2)'), vim.fn.foldclosed(case.row('▸ schreiben')))
  vim.cmd('normal! zo')

  -- A line that changes and moves at once is followed by what it is about.
  vim.api.nvim_win_set_cursor(0, { case.row('· read später'), 4 })
  case.tell({ type = 'toolCompleted', call = 'c2', result = 'gut' })
  case.tell({ type = 'toolRequested', call = 'c3', name = 'list', summary = 'noch später' })
  case.shows('· list noch später')
  t.equal(case.row('✓ read später'), vim.api.nvim_win_get_cursor(0)[1])

  -- Enter goes to the place, in the window of the file.
  vim.api.nvim_win_set_cursor(0, { row, 0 })
  local windows = #vim.api.nvim_tabpage_list_wins(0)
  vim.api.nvim_feedkeys(vim.keycode('<CR>'), 'xt', false)
  t.equal('maß.rs', vim.fn.expand('%:t'))
  t.equal({ 2, 5 }, vim.api.nvim_win_get_cursor(0))
  t.equal(windows, #vim.api.nvim_tabpage_list_wins(0))

  case.server.tell('outrigger/question/resolved', {
    questionId = case.run .. '.q1',
    runId = case.run,
    state = { state = 'answered', answer = { type = 'choice', choice = '1' }, by = 'Ada', at = 2 },
  })
  t.wait('the question to go', function()
    return not case.row('Wie groß?')
  end)
  case.tell({ type = 'ended', outcome = 'failed', summary = { text = 'Es ging nicht.', files = {} } })
  case.shows('failed  Mach es größer')
  case.shows('Es ging nicht.')
  case.stop()
end)

t.test('findings are in the panel and in the quickfix list, with the places they have', function()
  local case = panel()
  case.tell(start('Befunde'))
  case.server.tell('textDocument/publishDiagnostics', {
    uri = vim.uri_from_fname(case.root .. '/src/maß.rs'),
    diagnostics = {
      {
        range = { start = { line = 1, character = 5 }, ['end'] = { line = 1, character = 11 } },
        severity = 1,
        code = 'E0308',
        source = 'cargo',
        message = 'falscher Typ',
      },
      {
        range = { start = { line = 0, character = 0 }, ['end'] = { line = 0, character = 1 } },
        severity = 3,
        source = 'outrigger',
        message = 'eine Frage',
      },
    },
  })
  local row = case.shows('src/maß.rs:2:6 E0308 falscher Typ')
  t.equal(nil, case.row('eine Frage'))
  vim.api.nvim_win_set_cursor(0, { row, 0 })
  vim.api.nvim_feedkeys(vim.keycode('<CR>'), 'xt', false)
  t.equal({ 2, 5 }, vim.api.nvim_win_get_cursor(0))
  vim.cmd('Outrigger findings')
  t.equal('quickfix', vim.bo.buftype)
  local list = vim.fn.getqflist()
  t.equal(1, #list)
  t.equal({ 2, 6, 'E', 'falscher Typ' }, { list[1].lnum, list[1].col, list[1].type, list[1].text })
  vim.cmd('cclose')
  case.tell({ type = 'changeMade', change = 1, path = 'src/maß.rs', after = 'x', added = 3, removed = 1 })
  t.wait('the change', function()
    return case.row('+3 -1')
  end)
  case.stop()
end)

t.test('a hundred thousand events neither pile up nor hold up', function()
  local case = panel()
  case.tell(start('viel'))
  -- The time of this process alone, so that what else the machine does is not counted.
  local started = os.clock()
  for index = 1, 33333 do
    local call = 'c' .. index
    case.tell({ type = 'toolRequested', call = call, name = 'read', summary = 'datei' .. index })
    case.tell({ type = 'toolStarted', call = call })
    case.tell({ type = 'toolCompleted', call = call, result = 'gut' })
  end
  case.shows('✓ read datei33333')
  local ms = (os.clock() - started) * 1000
  t.equal(true, #case.lines() < 200, 'lines')
  -- What the events may cost, each; ten times that would be seen.
  t.equal(true, ms < 20000, ('%d ms for 100,000 events'):format(ms))
  -- What holds up a key is one drawing, and that does not grow with the events: the least of some, nothing in the way.
  local least = math.huge
  for index = 1, 5 do
    case.tell({ type = 'toolRequested', call = 'z' .. index, name = 'read', summary = 'spät' .. index })
    local before = vim.uv.hrtime()
    require('outrigger.panel').draw()
    least = math.min(least, (vim.uv.hrtime() - before) / 1e6)
  end
  t.equal(true, least < 16, ('%.1f ms for one drawing'):format(least))
  io.stdout:write(('     100,000 events: %.0f ms, one drawing: %.2f ms\n'):format(ms, least))
  case.stop()
end)

t.test('events that were missed are fetched, in order and once', function()
  local asked = {}
  local case
  case = panel({
    ['outrigger/run/events'] = function(params)
      table.insert(asked, params)
      local records = {}
      for seq = params.afterSeq + 1, math.min(params.afterSeq + 2, 5) do
        local event = seq == 1 and start('verpasst')
          or { type = 'changeMade', path = 'd' .. seq, added = 1, removed = 0 }
        records[#records + 1] = record('', seq, event).record
      end
      return { runId = params.runId, records = records, more = params.afterSeq + 2 < 5 }
    end,
  })
  case.seq = 4
  case.tell({ type = 'changeMade', path = 'd5', added = 1, removed = 0 })
  case.shows('verpasst')
  case.shows('d5  +1 -0')
  t.equal(
    { 0, 2, 4 },
    vim.tbl_map(function(params)
      return params.afterSeq
    end, asked)
  )
  t.equal({ 'd2', 'd3', 'd4', 'd5' }, require('outrigger.runs').get(case.run).order)
  case.stop()
end)

t.test('the panel is drawn again by :edit and by a session', function()
  local case = panel()
  case.tell(start('bleibt'))
  case.shows('bleibt')
  vim.cmd('edit')
  t.equal(case.buffer, vim.api.nvim_get_current_buf())
  case.shows('bleibt')
  local session = vim.fn.tempname()
  vim.cmd('mksession ' .. session)
  vim.cmd('silent! %bwipeout!')
  vim.cmd('silent source ' .. session)
  local window = t.wait('the panel of the session', function()
    return vim.iter(vim.api.nvim_list_wins()):find(function(window)
      return vim.api.nvim_buf_get_name(vim.api.nvim_win_get_buf(window)) == 'outrigger://panel'
    end)
  end)
  case.buffer = vim.api.nvim_win_get_buf(window)
  case.shows('bleibt')
  t.equal(2, #vim.api.nvim_list_wins())
  case.stop()
end)

t.test('each section of the panel is a fold of its own, also after many lines have come at once', function()
  local case = panel()
  case.tell(start('faltet sich'))
  case.tell({ type = 'planUpdated', items = { { title = 'p1', state = 'done' } } })
  case.tell({ type = 'changeMade', change = 1, path = 'f1.rs', after = 'x', added = 3, removed = 1 })
  case.tell({ type = 'toolRequested', call = 'c1', name = 'read', summary = 'f1.rs' })
  case.shows('· read f1.rs')
  -- Drawn together: lines above, between and below those that stay.
  case.ask(blocker(case, case.run .. '.q1'))
  case.tell({
    type = 'planUpdated',
    items = {
      { title = 'p1', state = 'done' },
      { title = 'p2', state = 'pending' },
      { title = 'p3', state = 'pending' },
    },
  })
  case.tell({ type = 'changeMade', change = 2, path = 'f2.rs', after = 'x', added = 3, removed = 1 })
  case.tell({ type = 'toolRequested', call = 'c2', name = 'read', summary = 'f2.rs' })
  case.shows('· read f2.rs')
  for _, title in ipairs({ 'Questions (1)', 'Plan (3)', 'Changes (2)', 'Tool calls (2)' }) do
    local head = case.row('  ' .. title)
    local size = tonumber(title:match('%d+'))
    vim.cmd(head .. 'foldclose')
    t.equal({ head, head + size }, { vim.fn.foldclosed(head), vim.fn.foldclosedend(head) }, title)
    vim.cmd(head .. 'foldopen')
  end
  case.stop()
end)

t.test('folds and the cursor of the panel are as before after :edit and in another Neovim', function()
  local case = panel()
  case.tell(start('bleibt gefaltet'))
  case.tell({
    type = 'planUpdated',
    items = { { title = 'nachlesen', state = 'done' }, { title = 'nachtun', state = 'pending' } },
  })
  case.tell({ type = 'changeMade', change = 1, path = 'src/anders.rs', after = 'x', added = 3, removed = 1 })
  vim.api.nvim_win_set_cursor(0, { case.shows('nachlesen'), 0 })
  vim.cmd('normal! zc')
  vim.api.nvim_win_set_cursor(0, { case.shows('src/anders.rs  +3 -1'), 0 })
  local function as_before()
    local plan = case.shows('nachlesen') - 1
    t.wait('the fold', function()
      return vim.fn.foldclosed(plan) == plan
    end)
    t.equal(-1, vim.fn.foldclosed(case.row('src/anders.rs  +3 -1')))
    t.equal(case.row('src/anders.rs  +3 -1'), vim.api.nvim_win_get_cursor(0)[1])
  end
  vim.cmd('edit')
  as_before()
  -- What another Neovim reads from a session, before its sidecar has told it of the run.
  local kept = vim.g.OutriggerPanel
  t.contains(case.run, kept)
  vim.cmd('bwipeout!')
  vim.g.OutriggerPanel = kept
  vim.cmd('Outrigger panel')
  case.buffer = vim.api.nvim_get_current_buf()
  as_before()
  case.stop()
end)

t.test('a reply in a buffer is sent by :w, and kept when someone else was first', function()
  local answers = {}
  local case = panel({
    ['outrigger/question/answer'] = function(params)
      table.insert(answers, params)
      return { questionId = params.questionId }
    end,
  })
  case.tell(start('fragt'))
  case.ask(blocker(case, case.run .. '.q1'))
  vim.api.nvim_win_set_cursor(0, { case.shows('Wie groß?'), 0 })
  vim.api.nvim_feedkeys('r', 'xt', false)
  t.equal('acwrite', vim.bo.buftype)
  vim.api.nvim_feedkeys(vim.keycode('iSo groß 漢字<CR>wie es geht<Esc>'), 'xt', false)
  vim.cmd('write')
  t.equal(
    { { questionId = case.run .. '.q1', answer = { type = 'text', text = 'So groß 漢字\nwie es geht' } } },
    answers
  )
  t.equal(false, vim.bo.modified)
  vim.api.nvim_feedkeys(vim.keycode('Anoch mehr<Esc>'), 'xt', false)
  local reply = vim.api.nvim_get_current_buf()
  case.server.tell('outrigger/question/resolved', {
    questionId = case.run .. '.q1',
    runId = case.run,
    state = { state = 'answered', answer = answers[1].answer, by = 'Ada', at = 2 },
  })
  t.wait('the question to go', function()
    return #require('outrigger').questions() == 0
  end)
  t.equal('So groß 漢字', vim.api.nvim_buf_get_lines(reply, 0, 1, true)[1])
  t.equal(true, vim.bo[reply].buflisted)
  case.stop()
end)

t.test('questions that were open before are asked for, and an answer goes by id', function()
  local answers = {}
  local root = t.folder()
  local case = { run = 'rbefore' }
  local server = server_of.start(root, {
    ['outrigger/question/list'] = function()
      return { questions = { blocker(case, 'rbefore.q1') } }
    end,
    ['outrigger/run/list'] = function()
      return {
        runs = {
          {
            runId = 'rbefore',
            prompt = 'von vorher',
            engine = 'react',
            model = 'm',
            status = 'waiting',
            startedAt = 1,
            usage = {},
            plan = {},
            findings = 0,
            openQuestions = { 'rbefore.q1' },
            transcript = '/dev/null',
          },
        },
      }
    end,
    ['outrigger/question/answer'] = function(params)
      table.insert(answers, params)
      return { questionId = params.questionId }
    end,
  })
  t.wait('the question', function()
    return #require('outrigger').questions() == 1
  end)
  t.equal('waiting', require('outrigger.runs').get('rbefore').status)
  t.equal('outrigger waiting, 1 question', require('outrigger').statusline())
  t.equal({ 'rbefore.q1' }, require('outrigger.commands').complete('rb', 'Outrigger answer rb', 19))
  require('outrigger').answer('rbefore.q1', { type = 'choice', choice = '1' })
  t.equal({ { questionId = 'rbefore.q1', answer = { type = 'choice', choice = '1' } } }, answers)
  server_of.stop(server)
  t.equal({}, require('outrigger').questions())
  t.equal('interrupted', require('outrigger.runs').get('rbefore').status)
end)

t.test('what is null on the wire is missing in Lua, in whichever version of Neovim', function()
  local client = require('outrigger.client')
  t.equal(nil, client.without_null(vim.NIL))
  t.equal(
    { kind = { path = 'x', hunks = { { id = 0 } } }, of = {} },
    client.without_null({
      kind = { path = 'x', base = vim.NIL, hunks = { { id = 0, at = vim.NIL } } },
      of = {},
      no = vim.NIL,
    })
  )
  local case = panel()
  case.tell(start('ohne Warten'))
  case.tell({ type = 'statusChanged', from = 'queued', to = 'executing', waiting = vim.NIL })
  case.shows('executing  ohne Warten')
  t.equal(nil, require('outrigger.runs').get(case.run).waiting)
  case.stop()
end)

t.test('the command completes its subcommands and their options', function()
  local complete = require('outrigger.commands').complete
  local function at(line)
    return complete(line:match('%S*$'), line, #line)
  end
  t.equal({ 'panel' }, at('Outrigger pan'))
  t.equal({ 'cancel', 'changes', 'clean', 'continue' }, at('Outrigger c'))
  t.equal({ '++conflict=' }, at('Outrigger run ++con'))
  t.equal({ '++conflict=edit' }, at('Outrigger run ++conflict=e'))
  t.equal({ '++engine=plan', '++engine=react' }, vim.fn.sort(at('Outrigger run ++engine=')))
  t.equal({ '++review=large' }, at('Outrigger run ++model=x ++review=l'))
  t.equal({}, at('Outrigger run ++model=x tu was'))
  t.equal({ 'import' }, at('Outrigger task i'))
  t.equal({ 'leave' }, at('Outrigger hunk l'))
  t.equal({}, at('Outrigger nichts x'))
  t.equal(true, vim.tbl_contains(vim.fn.getcompletion('Outrigger ', 'cmdline'), 'run'))
end)
