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
  answer = 'answer',
  cancel = 'cancel',
  diff = 'diff',
  accept = 'accept',
  keep = 'keep',
  ['take-hunk'] = 'hunk take',
  ['leave-hunk'] = 'hunk leave',
}) do
  vim.keymap.set('n', ('<Plug>(outrigger-%s)'):format(name), '<Cmd>Outrigger ' .. subcommand .. '<CR>', {
    desc = 'Outrigger: ' .. subcommand,
  })
end
