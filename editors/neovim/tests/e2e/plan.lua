-- A plan that a run asks about: read, changed, followed as it stands.
local t = require('harness')
local p = require('project')
local w = require('watch')

local STEPS = {
  { kind = 'create', target = 'a.txt', why = 'eins' },
  { kind = 'delete', target = 'b.txt', why = 'weg' },
}

local function asked(turns)
  w.reset()
  local project = p.new({ ['src/lib.rs'] = '', ['b.txt'] = 'bleibt\n' })
  p.enter(project)
  p.open(project, 'b.txt')
  local model = p.script(project, 'plan', { p.call('p1', 'propose_plan', { steps = STEPS }), unpack(turns) })
  vim.cmd('Outrigger run ++engine=plan ++review=always ++model=' .. model .. ' los')
  local question = w.asked()
  t.equal('plan', question.kind.kind)
  return project, question
end

t.test('a plan is changed and then followed; neither :w nor :q decides', function()
  local project, question = asked({
    p.call('c1', 'write', { path = 'größe.txt', content = '漢字\n' }),
    p.say('Gemacht.'),
  })
  w.answering({ 'Show the plan' }, function()
    vim.cmd('Outrigger answer ' .. question.id)
  end)
  local buffer = vim.api.nvim_get_current_buf()
  t.contains('1. create `a.txt`: eins', w.text(buffer))
  t.equal(false, (pcall(vim.cmd, 'write')))
  vim.cmd('silent! /^2\\. delete/ delete')
  vim.cmd('silent %substitute/a\\.txt/größe.txt/')
  vim.cmd('quit')
  t.equal(1, #require('outrigger').questions(), 'closing decides nothing')
  vim.cmd('Outrigger plan')
  t.equal(buffer, vim.api.nvim_get_current_buf())
  t.contains('`größe.txt`', w.text(buffer))
  vim.cmd('Outrigger accept')
  t.equal('succeeded', (w.ended()))
  t.equal('漢字\n', t.read(project.root .. '/größe.txt'))
  t.equal('bleibt\n', t.read(project.root .. '/b.txt'))
  t.equal(false, vim.api.nvim_buf_is_valid(buffer))
  t.equal(1, #vim.api.nvim_list_wins())
  p.leave()
end)

t.test('a changed plan that cannot be followed is refused, and stays', function()
  local _, question = asked({ p.say('Nie.') })
  vim.cmd('Outrigger plan ' .. question.id)
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, true, { '1. paint `a.txt`' })
  vim.cmd('Outrigger accept')
  t.wait('the refusal', function()
    return table.concat(w.seen.messages, '\n'):find('cannot be followed', 1, true)
  end)
  t.equal({ 1, true }, { #require('outrigger').questions(), vim.api.nvim_buf_is_valid(buffer) })
  vim.cmd('Outrigger cancel')
  t.equal('cancelled', (w.ended()))
  t.contains('1. paint', w.text(buffer))
  t.contains('your plan is kept', table.concat(w.seen.messages, '\n'))
  p.leave()
end)
