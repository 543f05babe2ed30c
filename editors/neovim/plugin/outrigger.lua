-- Runs at startup: one command, one group of maps, nothing loaded until they are used.
if vim.g.loaded_outrigger then
  return
end
vim.g.loaded_outrigger = true

vim.api.nvim_create_user_command('Outrigger', function(command)
  require('outrigger.commands').execute(command)
end, {
  nargs = '*',
  range = true,
  bang = true,
  desc = 'Outrigger: coding-agent runs',
  complete = function(lead, line, cursor)
    return require('outrigger.commands').complete(lead, line, cursor)
  end,
})

for name, subcommand in pairs({
  run = 'run',
  questions = 'questions',
  resume = 'resume',
  revert = 'revert',
  clean = 'clean',
  pause = 'pause',
  continue = 'continue',
  steer = 'steer',
  findings = 'findings',
  changes = 'changes',
  log = 'log',
  doctor = 'doctor',
  answer = 'answer',
  cancel = 'cancel',
  diff = 'diff',
  accept = 'accept',
  keep = 'keep',
  panel = 'panel',
  fix = 'fix',
  plan = 'plan',
  trust = 'trust',
  ['take-hunk'] = 'hunk take',
  ['leave-hunk'] = 'hunk leave',
}) do
  vim.keymap.set('n', ('<Plug>(outrigger-%s)'):format(name), '<Cmd>Outrigger ' .. subcommand .. '<CR>', {
    desc = 'Outrigger: ' .. subcommand,
  })
end

-- With a selection: about it.
for name, subcommand in pairs({ run = 'run', fix = 'fix' }) do
  vim.keymap.set('x', ('<Plug>(outrigger-%s)'):format(name), (":<C-u>'<,'>Outrigger %s<CR>"):format(subcommand), {
    desc = 'Outrigger: ' .. subcommand .. ' with the selection',
    silent = true,
  })
end

local group = vim.api.nvim_create_augroup('outrigger', {})
vim.api.nvim_create_autocmd('BufReadCmd', {
  group = group,
  pattern = 'outrigger://panel',
  desc = 'Outrigger: the panel is drawn, not read',
  callback = function(event)
    require('outrigger.panel').attach(event.buf)
  end,
})
vim.api.nvim_create_autocmd('SessionLoadPost', {
  group = group,
  desc = 'Outrigger: a panel of the session is drawn again',
  callback = function()
    if vim.fn.bufexists('outrigger://panel') == 1 then
      require('outrigger.panel').restore()
    end
  end,
})
