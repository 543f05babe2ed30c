-- Files that a run deletes or moves, open and not open.
local t = require('harness')
local p = require('project')
local w = require('watch')

t.test('a deletion is asked about; always for this run asks once, and an open file is no surprise', function()
  w.reset()
  local project =
    p.new({ ['src/lib.rs'] = '', ['a.txt'] = 'eins\n', ['b.txt'] = 'zwei 漢字\n', ['c.txt'] = 'drei\n' })
  p.enter(project)
  local buffer = p.open(project, 'b.txt')
  local other = p.open(project, 'c.txt')
  local model = p.script(project, 'delete', {
    p.call('c1', 'delete', { path = 'a.txt' }),
    p.call('c2', 'delete', { path = 'b.txt' }),
    p.call('c3', 'move', { from = 'c.txt', to = 'größe/c.txt' }),
    p.say('Weg.'),
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' räum auf')
  local question = w.asked()
  t.equal('a.txt', question.kind.path)
  w.answering({ 'Always for this run' }, function()
    vim.cmd('Outrigger answer ' .. question.id)
  end)
  t.equal('succeeded', (w.ended()))
  for _, path in ipairs({ 'a.txt', 'b.txt', 'c.txt' }) do
    t.equal(nil, t.read(project.root .. '/' .. path))
  end
  t.equal('drei\n', t.read(project.root .. '/größe/c.txt'))
  -- The texts are still there, and Neovim's warning that a file is gone is answered for both.
  t.equal({ 'zwei 漢字\n', 'drei\n' }, { w.text(buffer), w.text(other) })
  local function answered(which)
    return #vim.api.nvim_get_autocmds({ event = 'FileChangedShell', buffer = which })
  end
  t.equal({ 1, 1 }, { answered(buffer), answered(other) })
  -- Written again, it is a file like any other.
  vim.cmd('silent write!')
  t.equal('drei\n', t.read(project.root .. '/c.txt'))
  t.equal({ 1, 0 }, { answered(buffer), answered(other) })
  p.leave()
end)
