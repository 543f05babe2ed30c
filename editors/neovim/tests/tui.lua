-- OUTRIGGER_BIN=… nvim --clean --headless -l editors/neovim/tests/tui.lua
-- A real Neovim in a terminal of its own (tmux): keys are typed, the screen is read. Screens are kept in
-- OUTRIGGER_SCREENS, where that is set.
local here = vim.fs.dirname(vim.fs.abspath(debug.getinfo(1, 'S').source:sub(2)))
package.path = here .. '/?.lua;' .. package.path
local t = require('harness')
local p = require('project')

local binary = assert(vim.env.OUTRIGGER_BIN, 'set OUTRIGGER_BIN to the sidecar')
if vim.fn.executable('tmux') == 0 then
  io.stdout:write('there is no tmux: nothing was tested\n0 passed, 0 failed, 1 skipped\n')
  os.exit(3)
end

-- A tmux of its own for each Neovim: one that is ending takes no new session.
local socket = 'outrigger-' .. vim.fn.getpid()
local sessions = 0
local shots = 0

local function tmux(...)
  return vim.system({ 'tmux', '-L', socket, '-f', '/dev/null', ... }, { text = true }):wait(20000)
end

---@class tests.Screen
local Screen = {}
Screen.__index = Screen

--- What is on the screen, with colours if asked for.
---@param escapes boolean?
---@return string
function Screen:read(escapes)
  local arguments = { 'capture-pane', '-p', '-t', 'nvim' }
  if escapes then
    table.insert(arguments, '-e')
  end
  return tmux(unpack(arguments)).stdout
end

--- Waits until the screen shows this text.
---@param text string
---@param absent boolean? until it does not
function Screen:shows(text, absent)
  local last = ''
  local ok = vim.wait(30000, function()
    last = self:read()
    return (last:find(text, 1, true) == nil) == (absent == true)
  end, 30)
  if not ok then
    error(('the screen %s %q:\n%s'):format(absent and 'still shows' or 'never showed', text, last), 2)
  end
  return last
end

--- Types keys as tmux names them; text as it is.
function Screen:type(...)
  for _, key in ipairs({ ... }) do
    local special = key:match('^<(.+)>$')
    if special then
      tmux('send-keys', '-t', 'nvim', special)
    else
      tmux('send-keys', '-t', 'nvim', '-l', key)
    end
  end
end

function Screen:command(text)
  self:type(':' .. text, '<Enter>')
end

--- Keeps the screen as it is, for people.
function Screen:keep(name)
  local folder = vim.env.OUTRIGGER_SCREENS
  if folder then
    shots = shots + 1
    t.write(('%s/%02d-%s.txt'):format(folder, shots, name), self:read())
    t.write(('%s/%02d-%s.ansi'):format(folder, shots, name), self:read(true))
  end
end

---@param project tests.Project
---@param file string
---@return tests.Screen
local function start(project, file)
  local init = project.state .. '/init.lua'
  t.write(
    init,
    ([[
vim.opt.runtimepath:prepend(%q)
vim.o.termguicolors = true
vim.o.signcolumn = 'yes'
vim.o.shadafile = 'NONE'
vim.o.laststatus = 2
vim.g.maplocalleader = ','
vim.g.asked = 0
vim.o.statusline = "%%f %%m asked: %%{g:asked} [%%{v:lua.require'outrigger'.statusline()}]"
vim.diagnostic.config({ virtual_text = true, underline = true, signs = true })
vim.api.nvim_create_autocmd('User', { pattern = 'OutriggerEvent', callback = function(event)
  if event.data.method == 'outrigger/question/opened' then
    vim.g.asked = vim.g.asked + 1
  end
  vim.cmd('redrawstatus!')
end })
vim.lsp.config('outrigger', { cmd = { %q, 'lsp' }, cmd_env = { OUTRIGGER_STATE_DIR = %q } })
require('outrigger').setup({ notify = false })
vim.cmd('runtime plugin/outrigger.lua')
]]):format(vim.fs.dirname(here), binary, project.state)
  )
  sessions = sessions + 1
  socket = ('outrigger-%d-%d'):format(vim.fn.getpid(), sessions)
  tmux(
    'new-session',
    '-d',
    '-s',
    'nvim',
    '-x',
    '120',
    '-y',
    '34',
    '-c',
    project.root,
    ("exec env TERM=tmux-256color COLORTERM=truecolor LC_ALL=C.UTF-8 '%s' --clean -u '%s' '%s'"):format(
      vim.v.progpath,
      init,
      file
    )
  )
  return setmetatable({ project = project }, Screen)
end

local function stop(screen)
  screen:type('<Escape>')
  screen:command('qa!')
  t.wait('the end of Neovim', function()
    return tmux('has-session', '-t', 'nvim').code ~= 0
  end)
end

table.insert(t.after_failure, function()
  tmux('kill-server')
end)

local LIB = '//! Größe.\n\npub fn eins() -> u32 {\n    1\n}\n'

t.test('a run as it is seen: squiggle, panel, blocker answered in the default prompt, fixed', function()
  local project = p.new({ ['src/lib.rs'] = LIB })
  local model = p.script(project, 'tui', {
    p.call('c0', 'plan', { items = { { title = 'größer machen 漢字', state = 'in_progress' } } }),
    p.call('c1', 'read', { path = 'src/lib.rs' }),
    p.call('c2', 'edit', { path = 'src/lib.rs', edits = { { old = '    1\n', new = '    "größer 漢字"\n' } } }),
    p.call(
      'c3',
      'ask',
      { question = 'Wie groß?', choices = { 'zwei', 'drei' }, path = 'src/lib.rs', line = 1 },
      p.told('c2', 'E0308')
    ),
    p.call(
      'c4',
      'edit',
      { path = 'src/lib.rs', edits = { { old = '    "größer 漢字"\n', new = '    3\n' } } },
      p.told('c3', 'drei')
    ),
    p.say('Jetzt ist es drei.'),
  })
  local screen = start(project, 'src/lib.rs')
  screen:shows('pub fn eins')
  screen:command('Outrigger run ++model=' .. model .. ' größer')
  screen:shows('mismatched types')
  screen:shows('[outrigger waiting, 1 question]')
  -- Underlined, right before the text that is wrong.
  local underlined = screen:read(true)
  t.equal(
    true,
    underlined:find('\27%[[%d;:]*4[%d;:]*m[^\27]*"größer 漢字"') ~= nil
      or underlined:find('\27%[4[^m]*m.-größer') ~= nil,
    vim.inspect(underlined)
  )
  screen:keep('squiggle')
  screen:command('Outrigger panel')
  screen:shows('Questions (1)')
  screen:shows('▸ größer machen 漢字')
  screen:shows('src/lib.rs:4:5 E0308 mismatched types')
  screen:keep('panel')
  screen:type('?')
  screen:shows('go to the place')
  screen:keep('panel-keys')
  screen:type('/Wie groß', '<Enter>', 'a')
  screen:shows('2: drei')
  screen:keep('blocker')
  screen:type('2', '<Enter>')
  screen:shows('Jetzt ist es drei.')
  screen:shows('mismatched types', true)
  screen:shows('    3')
  screen:shows('outrigger waiting', true)
  screen:keep('done')
  t.equal((LIB:gsub('    1\n', '    3\n')), t.read(project.root .. '/src/lib.rs'))
  stop(screen)
end)

t.test('an overwrite as it is seen: one change left with `do`, the rest accepted; no key typed is lost', function()
  local OTHER = 'eins\nzwei\ndrei\nvier\nfünf\nsechs\nsieben\nacht\nneun\n'
  local project = p.new({ ['src/lib.rs'] = '', ['text.txt'] = OTHER })
  local model = p.script(project, 'tui', {
    p.call('c1', 'write', { path = 'text.txt', content = (OTHER:gsub('zwei', 'ZWEI')) }),
    p.say('Fertig.'),
  })
  local screen = start(project, 'text.txt')
  screen:shows('sieben')
  screen:type('Go', 'getippt 漢字', '<Escape>')
  screen:shows('getippt 漢字')
  screen:command('Outrigger run ++model=' .. model .. ' los')
  screen:shows('1 question]')
  -- The user types on while the question is open; nothing pops up that would take the keys.
  screen:type('Go', 'und weiter 😀', '<Escape>')
  screen:shows('und weiter 😀')
  screen:command('Outrigger diff')
  screen:shows('yours: text.txt')
  screen:shows('ZWEI')
  screen:keep('diff')
  -- The typed lines are not in the proposal; they are brought there.
  screen:type('G', 'do')
  screen:type(',a')
  -- What was asked about has been typed on: it is asked again, about what is there now.
  screen:shows('yours: text.txt', true)
  t.equal(OTHER, t.read(project.root .. '/text.txt'))
  screen:shows('asked: 2')
  screen:command('Outrigger diff')
  screen:shows('yours: text.txt')
  screen:shows('ZWEI')
  screen:type('G', 'do')
  screen:type(',a')
  screen:shows('[]')
  local expected = OTHER:gsub('zwei', 'ZWEI') .. 'getippt 漢字\nund weiter 😀\n'
  t.wait('the file', function()
    return t.read(project.root .. '/text.txt') == expected
  end)
  screen:shows('und weiter 😀')
  screen:shows('[+]', true)
  screen:keep('after-diff')
  -- One step of undo, and the user's own text is back.
  screen:type('u')
  screen:shows('zwei')
  screen:shows('und weiter 😀')
  stop(screen)
end)

t.test('the default prompt closes when the question is answered elsewhere, and its keys go nowhere', function()
  local project = p.new({ ['src/lib.rs'] = LIB })
  local model = p.script(project, 'tui', {
    p.call('c1', 'ask', { question = 'Wie groß?', choices = { 'zwei', 'drei' } }),
    p.say('Danke für die Antwort.', p.told('c1', 'vom Terminal')),
  })
  local screen = start(project, 'src/lib.rs')
  screen:shows('pub fn eins')
  -- The answer from elsewhere, given while the prompt waits for keys.
  screen:command(
    "lua vim.defer_fn(function() local q = require('outrigger').questions()[1] "
      .. "vim.lsp.get_clients()[1]:request('outrigger/question/answer', "
      .. "{ questionId = q.id, answer = { type = 'text', text = 'vom Terminal' }, by = 'Ada' }, function() end) end, 3000)"
  )
  screen:command('Outrigger run ++model=' .. model .. ' los')
  screen:shows('1 question]')
  screen:command('Outrigger answer')
  screen:shows('2: drei')
  screen:shows('2: drei', true)
  screen:shows('[]')
  screen:type('A!', '<Escape>')
  screen:shows('Größe.!')
  screen:keep('prompt-closed')
  stop(screen)
end)

t.test('a run is cancelled by command, and the file is as it was', function()
  local project = p.new({ ['src/lib.rs'] = LIB })
  local model = p.script(project, 'tui', {
    { emit = { { text = 'nie' } }, pace = { ttft_ms = 600000 } },
  })
  local screen = start(project, 'src/lib.rs')
  screen:shows('pub fn eins')
  screen:command('Outrigger run ++model=' .. model .. ' langsam')
  screen:shows('[outrigger')
  screen:command('Outrigger cancel')
  screen:shows('[]')
  screen:command('Outrigger log')
  screen:shows('ended')
  screen:shows('cancelled')
  screen:keep('cancelled')
  t.equal(LIB, t.read(project.root .. '/src/lib.rs'))
  stop(screen)
end)

t.test('Neovim ends in the middle of a run; the next one offers it, and it is taken up where it stopped', function()
  local project = p.new({ ['src/lib.rs'] = LIB })
  local model = p.script(project, 'tui', {
    p.call('c0', 'plan', { items = { { title = 'größer machen 漢字', state = 'in_progress' } } }),
    p.call('c1', 'read', { path = 'src/lib.rs' }),
    p.call('c2', 'edit', { path = 'src/lib.rs', edits = { { old = '    1\n', new = '    2\n' } } }),
    p.call('c3', 'ask', { question = 'Wie weit?', choices = { 'nah', 'fern' } }, p.told('c2', 'was changed')),
    p.call(
      'c4',
      'edit',
      { path = 'src/lib.rs', edits = { { old = '    2\n', new = '    3\n' } } },
      p.told('c3', 'fern')
    ),
    p.say('Jetzt ist es drei.'),
  })
  local screen = start(project, 'src/lib.rs')
  screen:shows('pub fn eins')
  screen:command('Outrigger run ++model=' .. model .. ' größer')
  screen:shows('[outrigger waiting, 1 question]')
  screen:shows('    2')
  screen:keep('before-restart')
  stop(screen)
  t.equal((LIB:gsub('    1\n', '    2\n')), t.read(project.root .. '/src/lib.rs'))

  screen = start(project, 'src/lib.rs')
  screen:shows('pub fn eins')
  screen:command('Outrigger panel')
  screen:shows('interrupted  größer')
  screen:keep('interrupted')
  screen:type('/interrupted', '<Enter>', 'R')
  screen:shows('Wie weit?')
  -- What was known before the restart is known again.
  screen:shows('▸ größer machen 漢字')
  screen:keep('resumed')
  screen:type('gg', '/Wie weit', '<Enter>', 'a')
  screen:shows('2: fern')
  screen:type('2', '<Enter>')
  screen:shows('succeeded  größer')
  screen:shows('    3')
  screen:keep('after-restart')
  t.equal((LIB:gsub('    1\n', '    3\n')), t.read(project.root .. '/src/lib.rs'))
  stop(screen)
end)

tmux('kill-server')
t.finish()
