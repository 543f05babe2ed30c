-- A word to a run that is under way, and runs that an earlier sidecar left.
local t = require('harness')
local p = require('project')
local w = require('watch')

t.test('a run is paused, told something and let go on', function()
  w.reset()
  local project = p.new({ ['src/lib.rs'] = '' })
  p.enter(project)
  p.open(project, 'src/lib.rs')
  local model = p.script(project, 'steer', {
    p.call('c1', 'ask', { question = 'Weiter?', choices = { 'ja' } }),
    p.say('Gut.'),
  })
  vim.cmd('Outrigger run ++model=' .. model .. ' los')
  local question = w.asked()
  local run = require('outrigger.runs').unfinished()[1]
  t.equal({ run.id }, require('outrigger.commands').complete('', 'Outrigger pause ', 16))
  vim.cmd('Outrigger pause')
  t.wait('the pause', function()
    return run.paused
  end)
  t.contains('paused', require('outrigger').statusline())
  vim.cmd('Outrigger steer ' .. run.id .. ' Lass die Größe in Ruhe 漢字')
  t.wait('the word', function()
    return #w.recorded('steered') == 2
  end)
  t.equal({ type = 'message', text = 'Lass die Größe in Ruhe 漢字' }, w.recorded('steered')[2].steer)
  w.answering({ 'ja' }, function()
    vim.cmd('Outrigger answer ' .. question.id)
  end)
  t.wait('the answer', function()
    return w.recorded('questionAnswered')[1]
  end)
  vim.cmd('Outrigger continue')
  t.equal('succeeded', (w.ended()))
  t.equal(nil, run.paused)
  p.leave()
end)
