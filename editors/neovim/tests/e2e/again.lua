-- The sidecar dies in the middle of a run: nothing is lost, and the run is taken up again.
local t = require('harness')
local p = require('project')
local w = require('watch')

local LIB = '//! Größe.\n\npub fn eins() -> u32 {\n    1\n}\n'

t.test('a sidecar that is killed while it asks: the question comes back, and the run ends as it would have', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = LIB })
  p.enter(project)
  local buffer = p.open(project, 'src/lib.rs')
  local path = project.root .. '/src/lib.rs'
  local model = p.script(project, 'again', {
    p.call('c1', 'read', { path = 'src/lib.rs' }),
    p.call('c2', 'edit', { path = 'src/lib.rs', edits = { { old = '    1\n', new = '    2\n' } } }),
    p.call('c3', 'ask', { question = 'Weiter? 漢字', choices = { 'ja' } }, p.told('c2', 'was changed')),
    p.call('c4', 'edit', { path = 'src/lib.rs', edits = { { old = '    2\n', new = '    3\n' } } }, p.told('c3', 'ja')),
    p.say('Fertig.'),
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' los')
  local question = w.asked()
  local run = require('outrigger.runs').get(question.run)
  -- Typed and not saved when the sidecar dies.
  w.type_keys('Go// getippt 漢字<Esc>')
  local first = vim.lsp.get_clients({ name = 'outrigger' })[1]
  local sidecars = vim.tbl_filter(function(pid)
    return vim.startswith(vim.api.nvim_get_proc(pid).name, 'outrigger')
  end, vim.api.nvim_get_proc_children(vim.fn.getpid()))
  t.equal(1, #sidecars)
  vim.uv.kill(sidecars[1], 'sigkill')
  t.wait('the end of the sidecar', function()
    return vim.lsp.get_client_by_id(first.id) == nil
  end)
  t.equal({}, require('outrigger').questions())
  t.equal('interrupted', run.status)
  t.equal('', require('outrigger').statusline())
  t.contains('sidecar ended', table.concat(w.seen.messages, '\n'))

  w.reset()
  vim.cmd('Outrigger resume ' .. run.id)
  local again = t.wait('the question again', function()
    return require('outrigger').questions()[1]
  end)
  t.equal(question.id, again.id)
  w.answering({ 'ja' }, function()
    vim.cmd('Outrigger answer')
  end)
  t.equal('succeeded', (w.ended()))
  t.equal('succeeded', run.status)
  local expected = LIB:gsub('    1\n', '    3\n') .. '// getippt 漢字\n'
  t.equal(expected, w.text(buffer))
  t.equal(expected, t.read(path))
  w.no_file_changed_on_disk()
  p.leave()
end)
