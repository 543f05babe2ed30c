-- The main job: a run is started by command, its findings are seen, it asks, it is answered, and every byte is accounted for.
local t = require('harness')
local p = require('project')
local w = require('watch')

local LIB = [[
//! Größe und Maß.

/// Fläche in m².
pub fn flaeche(laenge: u32, breite: u32) -> u32 {
    laenge * breite
}
]]

local OTHER = [[
/// eins
pub fn eins() -> u32 {
    1
}

/// zwei
pub fn zwei() -> u32 {
    2
}
]]

t.test(
  'a run: findings with exact ranges, progress, a blocker answered, the file fixed, saved, one step of undo',
  function()
    w.reset()
    local project = p.new({ ['src/lib.rs'] = LIB })
    p.enter(project)
    local buffer = p.open(project, 'src/lib.rs')
    local path = project.root .. '/src/lib.rs'
    vim.api.nvim_buf_set_mark(buffer, 'm', 6, 0, {})
    local model = p.script(project, 'main', {
      p.call(
        'c1',
        'read',
        { path = 'src/lib.rs' },
        { last = { role = 'user', contains = { 'Mach die Größe größer 漢字' } } }
      ),
      p.call('c2', 'edit', {
        path = 'src/lib.rs',
        edits = {
          {
            old = '    laenge * breite\n',
            new = '    let maß = ("größe😀", laenge * "漢字");\n    laenge * breite\n',
          },
        },
      }, p.told('c1', 'Fläche in m²')),
      p.call(
        'c3',
        'ask',
        { question = 'Wie groß? 漢字', choices = { 'groß', 'klein' }, path = 'src/lib.rs', line = 5 },
        p.told('c2', 'E0277')
      ),
      p.call('c4', 'edit', {
        path = 'src/lib.rs',
        edits = {
          {
            old = '    let maß = ("größe😀", laenge * "漢字");\n',
            new = '    let _maß = ("größe😀", laenge);\n',
          },
        },
      }, p.told('c3', 'klein')),
      p.say('Größer ist es jetzt.'),
    })
    vim.cmd('Outrigger run ++model=' .. model .. ' Mach die Größe größer 漢字')
    local question = w.asked()

    -- The finding, in Neovim's own units: bytes. The operator before "漢字" is what rustc points at.
    local line = '    let maß = ("größe😀", laenge * "漢字");'
    local column = line:find(' * ', 1, true)
    local diagnostic = t.wait('the finding', function()
      return vim.iter(vim.diagnostic.get(buffer)):find(function(d)
        return d.source == 'cargo' and d.severity == vim.diagnostic.severity.ERROR
      end)
    end)
    t.equal({ 4, column, 4, column + 1 }, { diagnostic.lnum, diagnostic.col, diagnostic.end_lnum, diagnostic.end_col })
    t.equal('E0277', diagnostic.code)
    t.contains('cannot multiply', diagnostic.message)

    -- The question shows where it is.
    t.equal('blocker', question.kind.kind)
    t.wait('the question as a diagnostic', function()
      return vim.iter(vim.diagnostic.get(buffer)):find(function(d)
        return d.source == 'outrigger' and d.lnum == 4 and d.severity == vim.diagnostic.severity.INFO
      end)
    end)
    t.contains('1 question', require('outrigger').statusline())
    t.contains('Wie groß? 漢字', table.concat(w.seen.messages, '\n'))
    local offered = w.answering({ 'klein' }, function()
      vim.cmd('Outrigger answer')
    end)
    t.contains('src/lib.rs:5', offered[1].prompt)
    t.equal(4, #offered[1].labels, 'two choices, own words, stop')

    local outcome, summary = w.ended()
    t.equal('succeeded', outcome)
    t.equal('passed', summary.verification)
    local expected = (LIB:gsub('    laenge %* breite\n', '    let _maß = ("größe😀", laenge);\n%0'))
    t.equal(expected, w.text(buffer))
    t.equal(expected, t.read(path))
    t.equal(false, vim.bo[buffer].modified)
    t.wait('no finding is left', function()
      return #vim.diagnostic.get(buffer) == 0
    end)
    t.equal({}, require('outrigger').questions())
    t.equal('', require('outrigger').statusline())
    t.equal(7, vim.api.nvim_buf_get_mark(buffer, 'm')[1])
    w.no_file_changed_on_disk()

    -- Progress: begun once, ended once.
    local kinds = { begin = 0, report = 0, ['end'] = 0 }
    t.wait('the end of the progress', function()
      return vim.iter(w.seen.progress):any(function(params)
        return params.value.kind == 'end'
      end)
    end)
    for _, params in ipairs(w.seen.progress) do
      kinds[params.value.kind] = kinds[params.value.kind] + 1
    end
    t.equal({ 1, 1 }, { kinds.begin, kinds['end'] })

    -- Events without a gap.
    local seq = 0
    for _, event in ipairs(w.seen.events) do
      if event.method == 'outrigger/run/event' then
        seq = seq + 1
        t.equal(seq, event.params.record.seq)
      end
    end

    -- Each change is one step of undo.
    vim.cmd('silent undo')
    t.contains('laenge * "漢字"', w.text(buffer))
    vim.cmd('silent undo')
    t.equal(LIB, w.text(buffer))
    p.leave()
  end
)

t.test('a conflict with unsaved text: one change of two is taken, nothing typed is lost', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = 'pub mod other;\n', ['src/other.rs'] = OTHER })
  p.enter(project)
  local buffer = p.open(project, 'src/other.rs')
  local path = project.root .. '/src/other.rs'
  w.type_keys('Go// I typed ß 漢字 😀<Esc>')
  w.type_keys('ggO<C-u>// mein<Esc>')
  local mine = w.text(buffer)
  t.equal('// mein\n' .. OTHER .. '// I typed ß 漢字 😀\n', mine)
  local proposal = OTHER:gsub('    1\n', '    11\n'):gsub('    2\n', '    22\n')
  local model = p.script(project, 'conflict', {
    p.call('c1', 'write', { path = 'src/other.rs', content = proposal }),
    p.say('Fertig.'),
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' anders')
  local question = w.asked()
  t.equal('overwrite', question.kind.kind)
  t.equal(true, question.kind.unsaved)
  t.equal(OTHER, t.read(path), 'nothing is written before the answer')
  -- The hunks: my comment goes, 1 becomes 11, 2 becomes 22, my last line goes.
  local takes = {}
  for _, hunk in ipairs(question.kind.hunks) do
    takes[#takes + 1] = hunk.added[1] == '    22\n' and 'Take it' or 'Leave mine here'
  end
  t.equal(4, #takes)
  local offered = w.answering(vim.list_extend({ 'Choose change by change' }, takes), function()
    vim.cmd('Outrigger answer ' .. question.id)
  end)
  t.equal(5, #offered)
  t.equal('succeeded', (w.ended()))
  local expected = mine:gsub('    2\n', '    22\n')
  t.equal(expected, w.text(buffer))
  t.equal(expected, t.read(path))
  t.equal(false, vim.bo[buffer].modified)
  w.no_file_changed_on_disk()
  vim.cmd('silent undo')
  t.equal(mine, w.text(buffer), 'one step of undo')
  p.leave()
end)

t.test('a conflict with unsaved text that goes on while it is open: what is there is asked about again', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = 'pub mod other;\n', ['src/other.rs'] = OTHER })
  p.enter(project)
  local buffer = p.open(project, 'src/other.rs')
  local path = project.root .. '/src/other.rs'
  w.type_keys('ggO<C-u>// eins<Esc>')
  local model = p.script(project, 'typing', {
    p.call('c1', 'write', { path = 'src/other.rs', content = '// neu\n' }),
    p.say('Dann eben nicht.', p.told('c1', 'kept their own version', 'ich schreibe noch 漢字')),
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' neu')
  local first = w.asked()
  -- Typed after the question was shown, and answered at once: the answer is about another text.
  w.type_keys('Go// zwei 😀<Esc>')
  local mine = w.text(buffer)
  w.answering({ 'Take all' }, function()
    vim.cmd('Outrigger answer ' .. first.id)
  end)
  local second = w.asked()
  t.equal('overwrite', second.kind.kind)
  t.equal(mine, w.text(buffer), 'nothing typed is lost')
  t.equal(OTHER, t.read(path))
  w.answering({ 'say why', 'ich schreibe noch 漢字' }, function()
    vim.cmd('Outrigger answer')
  end)
  t.equal('succeeded', (w.ended()))
  t.equal(mine, w.text(buffer))
  t.equal(OTHER, t.read(path), 'kept: every byte on disk is as it was')
  t.equal(true, vim.bo[buffer].modified)
  w.no_file_changed_on_disk()
  p.leave()
end)

t.test('edits beside unsaved text are merged into it, and both are saved', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = 'pub mod other;\n', ['src/other.rs'] = OTHER })
  p.enter(project)
  local buffer = p.open(project, 'src/other.rs')
  local path = project.root .. '/src/other.rs'
  local model = p.script(project, 'merge', {
    p.call('c1', 'read', { path = 'src/other.rs' }),
    p.call('c2', 'ask', { question = 'Weiter?', choices = { 'ja' } }, p.told('c1', 'zwei')),
    p.call('c3', 'edit', { path = 'src/other.rs', edits = { { old = '    2\n', new = '    22\n' } } }),
    p.say('Fertig.'),
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' zwei')
  local question = w.asked()
  w.type_keys('ggO<C-u>// getippt, während der Agent nachdenkt 😀<Esc>')
  local mine = w.text(buffer)
  w.answering({ 'ja' }, function()
    vim.cmd('Outrigger answer ' .. question.id)
  end)
  t.equal('succeeded', (w.ended()))
  local expected = mine:gsub('    2\n', '    22\n')
  t.equal(expected, w.text(buffer))
  t.equal(expected, t.read(path))
  t.equal(false, vim.bo[buffer].modified)
  w.no_file_changed_on_disk()
  p.leave()
end)

t.test('a run that is cancelled ends at once and leaves every byte', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = LIB })
  p.enter(project)
  local buffer = p.open(project, 'src/lib.rs')
  local model = p.script(project, 'slow', {
    p.call('c1', 'read', { path = 'src/lib.rs' }),
    { emit = { { text = 'nie' } }, pace = { ttft_ms = 600000 } },
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' langsam')
  t.wait('the second call of the model', function()
    return #w.recorded('modelCalled') == 2
  end)
  local run = require('outrigger.runs').unfinished()[1]
  t.equal({ run.id }, require('outrigger.commands').complete('', 'Outrigger cancel ', 17))
  local started = vim.uv.hrtime()
  vim.cmd('Outrigger cancel')
  t.equal('cancelled', (w.ended()))
  local took_ms = (vim.uv.hrtime() - started) / 1e6
  t.equal(true, took_ms < 1000, ('cancelled after %d ms'):format(took_ms))
  t.wait('the end of the progress', function()
    return vim.iter(w.seen.progress):any(function(params)
      return params.value.kind == 'end'
    end)
  end)
  t.equal(LIB, w.text(buffer))
  t.equal(LIB, t.read(project.root .. '/src/lib.rs'))
  t.equal({}, require('outrigger.runs').unfinished())
  t.equal('', require('outrigger').statusline())
  w.no_file_changed_on_disk()
  p.leave()
end)

t.test('a selection goes with the prompt, and a file that is not open is written on disk', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = LIB })
  p.enter(project)
  p.open(project, 'src/lib.rs')
  local model = p.script(project, 'selection', {
    p.call('c1', 'write', { path = 'src/größe.rs', content = '// neu 漢字\r\n// zwei\r\n' }, {
      last = { role = 'user', contains = { 'was ist das', 'From src/lib.rs, lines 4-5', '```rust\npub fn flaeche' } },
    }),
    p.say('Fertig.'),
  })
  vim.cmd('4,5Outrigger run ++model=' .. model .. ' was ist das')
  t.equal('succeeded', (w.ended()))
  t.equal('// neu 漢字\r\n// zwei\r\n', t.read(project.root .. '/src/größe.rs'))
  w.no_file_changed_on_disk()
  p.leave()
end)
