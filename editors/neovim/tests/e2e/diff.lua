-- The diff of an overwrite: a tab with yours and the proposal, answered by commands, and everything else as before.
local t = require('harness')
local p = require('project')
local w = require('watch')

local OTHER = 'eins\nzwei\ndrei\nvier\nfünf\nsechs\nsieben\nacht 漢字\nneun\nzehn\n'

--- A run that wants to overwrite a file with unsaved text: mine is a line at the top, theirs are lines 3 and 8.
local function conflict(told)
  w.reset()
  local project = p.new({ ['src/lib.rs'] = '', ['text.txt'] = OTHER })
  p.enter(project)
  local buffer = p.open(project, 'text.txt')
  local mine = 'meins 😀\n' .. OTHER
  vim.api.nvim_buf_set_lines(buffer, 0, 0, true, { 'meins 😀' })
  local proposal = OTHER:gsub('drei', 'DREI'):gsub('acht', 'ACHT')
  local model = p.script(project, 'diff', {
    p.call('c1', 'write', { path = 'text.txt', content = proposal }),
    p.say('Fertig.', told and p.told('c1', told)),
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' los')
  local question = w.asked()
  return {
    project = project,
    buffer = buffer,
    path = project.root .. '/text.txt',
    mine = mine,
    proposal = proposal,
    question = question,
  }
end

--- All that must be as before once the diff is gone.
local function surroundings()
  local windows = {}
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    windows[#windows + 1] = {
      buffer = vim.api.nvim_win_get_buf(window),
      view = vim.api.nvim_win_call(window, vim.fn.winsaveview),
      diff = vim.wo[window].diff,
      scrollbind = vim.wo[window].scrollbind,
      foldmethod = vim.wo[window].foldmethod,
      winbar = vim.wo[window].winbar,
      fold = vim.api.nvim_win_call(window, function()
        return { vim.fn.foldclosed(6), vim.fn.foldclosedend(6) }
      end),
    }
  end
  return {
    tabs = #vim.api.nvim_list_tabpages(),
    layout = vim.fn.winlayout(),
    current = vim.api.nvim_get_current_win(),
    alternate = vim.fn.bufnr('#'),
    windows = windows,
    register = vim.fn.getreg('"'),
    search = vim.fn.getreg('/'),
    buffers = vim.tbl_filter(function(buffer)
      return vim.bo[buffer].buflisted
    end, vim.api.nvim_list_bufs()),
  }
end

--- Opens the diff as a user does, from the question.
local function show(case)
  w.answering({ 'Show the difference' }, function()
    vim.cmd('Outrigger answer ' .. case.question.id)
  end)
  return t.wait('the diff', function()
    local windows = vim.api.nvim_tabpage_list_wins(0)
    return #vim.api.nvim_list_tabpages() == 2
      and #windows == 2
      and vim.wo[windows[1]].diff
      and vim.wo[windows[2]].diff
      and windows
  end)
end

local function gone()
  t.wait('the end of the diff', function()
    return #vim.api.nvim_list_tabpages() == 1
  end)
end

t.test('the diff shows the real buffer and the proposal; one change is left with `do`, the rest is accepted', function()
  local case = conflict('took 2 of your 3 changes')
  vim.cmd('vsplit | wincmd p')
  vim.o.foldmethod = 'manual'
  vim.cmd('6,7fold')
  vim.fn.setreg('"', 'mein Register')
  vim.fn.setreg('/', 'gesucht')
  vim.api.nvim_win_set_cursor(0, { 4, 2 })
  local before = surroundings()
  local windows = show(case)
  t.equal(case.buffer, vim.api.nvim_win_get_buf(windows[1]))
  t.equal(case.mine, w.text(vim.api.nvim_win_get_buf(windows[1])))
  t.equal(case.proposal, w.text(vim.api.nvim_win_get_buf(windows[2])))
  t.equal(windows[2], vim.api.nvim_get_current_win())
  local differing = {}
  for row = 1, 10 do
    if vim.fn.diff_hlID(row, 1) ~= 0 then
      differing[#differing + 1] = row
    end
  end
  t.equal({ 3, 8 }, differing, 'highlighted lines of the proposal')
  -- Line 8 shall stay mine.
  vim.api.nvim_win_set_cursor(0, { 8, 0 })
  w.type_keys('do')
  t.equal('acht 漢字', vim.api.nvim_buf_get_lines(0, 7, 8, true)[1])
  t.equal(case.mine, w.text(case.buffer), 'mine is untouched')
  t.equal(OTHER, t.read(case.path))
  vim.cmd('Outrigger accept')
  t.equal('succeeded', (w.ended()))
  gone()
  local answered = w.recorded('questionAnswered')[1].answer
  t.equal('takeHunks', answered.type)
  t.equal(2, #answered.hunks)
  local expected = case.proposal:gsub('ACHT', 'acht')
  t.equal(expected, t.read(case.path))
  t.equal(expected, w.text(case.buffer))
  local after = surroundings()
  -- The cursor moved up with its line, as it does for any edit above it; the fold too.
  for _, window in ipairs(before.windows) do
    window.view, window.fold = nil, nil
  end
  for _, window in ipairs(after.windows) do
    window.view, window.fold = nil, nil
  end
  t.equal(before, after)
  t.equal({ 3, 2 }, vim.api.nvim_win_get_cursor(0))
  t.equal({ 5, 6 }, { vim.fn.foldclosed(5), vim.fn.foldclosedend(5) })
  w.no_file_changed_on_disk()
  p.leave()
end)

t.test('the proposal can be edited before it is accepted; neither :w nor :q decides', function()
  local case = conflict('took an edited version')
  show(case)
  local proposal = vim.api.nvim_get_current_buf()
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  w.type_keys('O von Hand 漢字 😀<Esc>')
  local edited = w.text(proposal)
  t.equal(false, (pcall(vim.cmd, 'write')), ':w')
  vim.cmd('tabclose')
  t.equal(
    { case.question.id },
    vim.tbl_map(function(question)
      return question.id
    end, require('outrigger').questions())
  )
  t.equal(OTHER, t.read(case.path))
  -- The edited proposal is still there.
  show(case)
  t.equal(edited, w.text(0))
  vim.cmd('Outrigger accept')
  t.equal('succeeded', (w.ended()))
  gone()
  t.equal({ type = 'takeText', text = edited }, w.recorded('questionAnswered')[1].answer)
  t.equal(edited, t.read(case.path))
  t.equal(edited, w.text(case.buffer))
  t.equal(false, vim.bo[case.buffer].modified)
  t.equal(false, vim.api.nvim_buf_is_valid(proposal))
  w.no_file_changed_on_disk()
  p.leave()
end)

t.test('what was left can be taken again, hunk by hunk', function()
  local case = conflict()
  show(case)
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  vim.cmd('Outrigger hunk leave')
  t.equal('drei', vim.api.nvim_get_current_line())
  vim.cmd('Outrigger hunk take')
  t.equal('DREI', vim.api.nvim_get_current_line())
  vim.cmd('Outrigger accept')
  t.equal('succeeded', (w.ended()))
  gone()
  t.equal({ type = 'takeAll' }, w.recorded('questionAnswered')[1].answer)
  t.equal(case.proposal, t.read(case.path))
  p.leave()
end)

t.test('keeping mine with a reason leaves every byte and tells the agent', function()
  local case = conflict('Das ist meine Datei 漢字')
  local before = surroundings()
  show(case)
  vim.cmd('Outrigger keep Das ist meine Datei 漢字')
  t.equal('succeeded', (w.ended()))
  gone()
  t.equal(OTHER, t.read(case.path))
  t.equal(case.mine, w.text(case.buffer))
  t.equal(true, vim.bo[case.buffer].modified)
  t.equal(before, surroundings())
  w.no_file_changed_on_disk()
  p.leave()
end)

t.test(
  'the first answer wins: an answer from elsewhere closes the diff and the picker, and keeps an edited proposal',
  function()
    local case = conflict()
    show(case)
    local proposal = vim.api.nvim_get_current_buf()
    vim.api.nvim_buf_set_lines(proposal, 0, 1, true, { 'von Hand' })
    -- A picker like those of plugins: a floating window, and an answer that comes later or never.
    local picker, pick
    t.with(vim.ui, 'select', function(items, _, done)
      pick = function()
        done(items[2], 2)
      end
      picker = vim.api.nvim_open_win(vim.api.nvim_create_buf(false, true), true, {
        relative = 'editor',
        row = 1,
        col = 1,
        width = 20,
        height = 3,
      })
    end, function()
      vim.cmd('Outrigger answer')
    end)
    t.equal(true, vim.api.nvim_win_is_valid(picker))
    local client = vim.lsp.get_clients({ name = 'outrigger' })[1]
    local reply = client:request_sync('outrigger/question/answer', {
      questionId = case.question.id,
      answer = { type = 'keepMine' },
      by = 'Ada am Terminal',
    }, 5000)
    t.equal({ questionId = case.question.id }, reply.result)
    gone()
    t.equal('succeeded', (w.ended()))
    t.equal(false, vim.api.nvim_win_is_valid(picker))
    -- Too late: it is no answer any more, and does no harm.
    pick()
    t.equal(1, #w.recorded('questionAnswered'))
    t.equal('von Hand', vim.api.nvim_buf_get_lines(proposal, 0, 1, true)[1])
    t.contains('Ada am Terminal', table.concat(w.seen.messages, '\n'))
    t.contains(('buffer %d'):format(proposal), table.concat(w.seen.messages, '\n'))
    t.equal(OTHER, t.read(case.path))
    t.equal(case.mine, w.text(case.buffer))
    p.leave()
  end
)

t.test('a second answer, and one that does not fit, are told and change nothing', function()
  local case = conflict()
  local questions = require('outrigger.questions')
  questions.answer(case.question.id, { type = 'text', text = 'x' })
  t.wait('the refusal', function()
    return table.concat(w.seen.messages, '\n'):find('an overwrite is answered by', 1, true)
  end)
  t.equal(1, #questions.open())
  questions.answer(case.question.id, { type = 'keepMine' })
  questions.answer(case.question.id, { type = 'takeAll' })
  t.equal('succeeded', (w.ended()))
  t.wait('the second refusal', function()
    return table.concat(w.seen.messages, '\n'):find('already answered', 1, true)
  end)
  t.equal(case.mine, w.text(case.buffer))
  t.equal(OTHER, t.read(case.path))
  p.leave()
end)

t.test('a file that is not open is shown beside its proposal without being opened', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = '', ['zu.txt'] = OTHER })
  p.enter(project)
  p.open(project, 'src/lib.rs')
  local model = p.script(project, 'closed', {
    p.call('c1', 'write', { path = 'zu.txt', content = 'neu 漢字' }),
    p.say('Fertig.'),
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' los')
  local question = w.asked()
  local before = surroundings()
  local windows = show({ question = question })
  local left = vim.api.nvim_win_get_buf(windows[1])
  t.equal(OTHER, w.text(left))
  t.equal(false, vim.bo[left].modifiable)
  -- Its diagnostic made an entry for the file, no more.
  t.equal(0, vim.fn.bufloaded(project.root .. '/zu.txt'))
  vim.cmd('Outrigger accept')
  t.equal('succeeded', (w.ended()))
  gone()
  t.equal('neu 漢字', t.read(project.root .. '/zu.txt'))
  t.equal(before, surroundings())
  p.leave()
end)

t.test('where both have changed what the agent had read, that is shown between them', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = '', ['text.txt'] = OTHER })
  p.enter(project)
  local buffer = p.open(project, 'text.txt')
  local model = p.script(project, 'threeway', {
    p.call('c1', 'read', { path = 'text.txt' }),
    p.call('c2', 'ask', { question = 'Weiter?', choices = { 'ja' } }),
    p.call('c3', 'write', { path = 'text.txt', content = (OTHER:gsub('drei', 'DREI'):gsub('neun', 'NEUN')) }),
    p.say('Fertig.'),
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' los')
  w.asked()
  vim.api.nvim_buf_set_lines(buffer, 2, 3, true, { 'drei von mir 😀' })
  local mine = w.text(buffer)
  w.answering({ 'ja' }, function()
    vim.cmd('Outrigger answer')
  end)
  local question = w.asked()
  t.equal('overwrite', question.kind.kind)
  local before = surroundings()
  w.answering({ 'Show the difference' }, function()
    vim.cmd('Outrigger answer ' .. question.id)
  end)
  local windows = t.wait('three sides', function()
    local windows = vim.api.nvim_tabpage_list_wins(0)
    return #vim.api.nvim_list_tabpages() == 2 and #windows == 3 and vim.wo[windows[3]].diff and windows
  end)
  t.equal(mine, w.text(vim.api.nvim_win_get_buf(windows[1])))
  t.equal(OTHER, w.text(vim.api.nvim_win_get_buf(windows[2])))
  t.equal(false, vim.bo[vim.api.nvim_win_get_buf(windows[2])].modifiable)
  t.contains('NEUN', w.text(vim.api.nvim_win_get_buf(windows[3])))
  t.equal(windows[3], vim.api.nvim_get_current_win())
  -- Line 3 shall stay mine: from the right, and after it was taken again, from the left.
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  w.type_keys('do')
  t.equal('drei von mir 😀', vim.api.nvim_get_current_line())
  vim.cmd('Outrigger hunk take')
  t.equal('DREI', vim.api.nvim_get_current_line())
  vim.api.nvim_set_current_win(windows[1])
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  vim.cmd('Outrigger hunk leave')
  vim.api.nvim_set_current_win(windows[3])
  t.equal('drei von mir 😀', vim.api.nvim_buf_get_lines(0, 2, 3, true)[1])
  vim.cmd('Outrigger accept')
  t.equal('succeeded', (w.ended()))
  gone()
  local expected = mine:gsub('neun', 'NEUN')
  t.equal(expected, w.text(buffer))
  t.equal(expected, t.read(project.root .. '/text.txt'))
  t.equal(before, surroundings())
  w.no_file_changed_on_disk()
  p.leave()
end)
