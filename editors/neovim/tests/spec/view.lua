-- What the user looks at is told before a run is started, to a sidecar that takes it.
local t = require('harness')
local server_of = require('server')

--- Starts a run about lines 2 and 3 of a file beside another one; gives what was sent since.
local function start(methods)
  local root = t.folder()
  t.write(root .. '/src/maß.rs', 'eins\nzwei 漢字\ndrei\n')
  t.write(root .. '/src/andere.rs', 'vier\n')
  t.write(root .. '/src/zu.rs', 'fünf\n')
  local server = server_of.start(root, {
    ['outrigger/run/start'] = function()
      return { runId = 'rview' }
    end,
  }, methods)
  vim.cmd.edit(vim.fn.fnameescape(root .. '/src/andere.rs'))
  vim.cmd.edit(vim.fn.fnameescape(root .. '/src/maß.rs'))
  local buffer = vim.api.nvim_get_current_buf()
  local function problem(message)
    return { lnum = 1, col = 0, end_lnum = 1, end_col = 4, message = message, source = 'lineal', severity = 3, code = 7 }
  end
  vim.diagnostic.set(vim.api.nvim_create_namespace('tests.lineal'), buffer, { problem('zu kurz') })
  vim.diagnostic.set(vim.lsp.diagnostic.get_namespace(server.client.id), buffer, { problem('sagt Outrigger selbst') })
  t.wait('the documents', function()
    return vim.tbl_count(server.client.attached_buffers) == 2
  end)
  local before = #server.sent
  vim.cmd('2,3Outrigger run los')
  t.wait('the run', function()
    return vim.iter(server.sent):any(function(message)
      return message.method == 'outrigger/run/start'
    end)
  end)
  local sent = vim.tbl_filter(function(message)
    return vim.startswith(message.method, 'outrigger/')
  end, vim.list_slice(server.sent, before + 1))
  server_of.stop(server)
  return sent
end

t.test('open documents, the selection and what other tools report are told before the run', function()
  local sent = start({ 'outrigger/editor/view' })
  t.equal({ 'outrigger/editor/view', 'outrigger/run/start' }, { sent[1].method, sent[2].method })
  t.equal({
    documents = {
      {
        path = 'src/maß.rs',
        visible = true,
        selection = { firstLine = 2, lastLine = 3, text = 'zwei 漢字\ndrei\n' },
        problems = { { line = 2, severity = 'information', source = 'lineal', code = '7', message = 'zu kurz' } },
      },
      { path = 'src/andere.rs', visible = false },
    },
  }, sent[1].params)
end)

t.test('a sidecar that does not take it is only asked for the run', function()
  t.equal(
    { 'outrigger/run/start' },
    vim.tbl_map(function(message)
      return message.method
    end, start())
  )
end)
