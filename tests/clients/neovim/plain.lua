-- Neovim as it comes, with nothing but the lines that ../README.md gives: nvim --clean --headless -l plain.lua
-- Needs `outrigger` on the PATH, and OUTRIGGER_STATE_DIR.

local here = vim.fs.dirname(vim.fs.normalize(vim.fn.fnamemodify(debug.getinfo(1, 'S').source:sub(2), ':p')))
local work = vim.fn.tempname()
local project = work .. '/maß 漢字'
local passed = 0

local function write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
end

local function read(path)
  local file = assert(io.open(path, 'rb'))
  local text = file:read('*a')
  file:close()
  return text
end

local function wait(what, fact)
  if not vim.wait(30000, fact, 20) then
    io.stdout:write('FAIL waited in vain for ' .. what .. '\n' .. passed .. ' passed, 1 failed\n')
    os.exit(1)
  end
  passed = passed + 1
  io.stdout:write('ok   ' .. what .. '\n')
end

-- The block of the section, as a reader would copy it.
local function snippet(heading)
  local section = read(here .. '/../README.md'):match('\n## ' .. vim.pesc(heading) .. '\n(.-)\n## ')
  return assert(section:match('```lua\n(.-)```'), 'no Lua under ' .. heading)
end

local function turn(tool, args, expect)
  return {
    emit = { { tool = tool, args = args } },
    expect = expect and { last = { contains = expect } } or nil,
  }
end

write(project .. '/.git/HEAD', 'ref: refs/heads/main\n')
write(project .. '/Cargo.toml', '[package]\nname = "mass"\nversion = "0.1.0"\nedition = "2021"\n')
write(project .. '/src/lib.rs', '//! Größe.\n\npub fn eins() -> u32 {\n    1\n}\n')
local lines = {}
for _, line in ipairs({
  { script = 1, name = 'plain' },
  turn('read', { path = 'src/lib.rs' }),
  turn('edit', { path = 'src/lib.rs', edits = { { old = '    1\n', new = '    "漢字"\n' } } }),
  turn('ask', { question = 'Wie groß?', choices = { 'zwei', 'drei' }, path = 'src/lib.rs', line = 3 }, 'E0308'),
  turn('edit', { path = 'src/lib.rs', edits = { { old = '    "漢字"\n', new = '    3\n' } } }, 'drei'),
  { emit = { { text = 'Fertig.' } } },
}) do
  table.insert(lines, vim.json.encode(line))
end
write(work .. '/turns.script.jsonl', table.concat(lines, '\n') .. '\n')
vim.env.OUTRIGGER_MODEL = 'scripted:' .. work .. '/turns.script.jsonl'

local asked, ends = {}, {}
vim.ui.select = function(items, options, choose)
  table.insert(asked, options.prompt or '')
  for _, item in ipairs(items) do
    if (item.title or item) == 'drei' then
      return choose(item)
    end
  end
  choose(nil)
end
vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(event)
    table.insert(ends, event.data.params.value.kind)
  end,
})

assert(load(snippet('Neovim 0.11, without our plugin'), 'README.md'))()
vim.cmd.cd(vim.fn.fnameescape(project))
vim.cmd.filetype('on')
vim.cmd.edit('src/lib.rs')
local buffer = vim.api.nvim_get_current_buf()
wait('the server is attached', function()
  local client = vim.lsp.get_clients({ name = 'outrigger', bufnr = buffer })[1]
  return client and client.initialized
end)
vim.cmd('OutriggerRun mach es größer')
wait('the finding is a diagnostic', function()
  return vim.iter(vim.diagnostic.get(buffer)):any(function(diagnostic)
    return diagnostic.code == 'E0308'
  end)
end)
wait('the question is asked', function()
  return vim.iter(asked):any(function(prompt)
    return prompt:find('Wie groß?', 1, true) ~= nil
  end)
end)
local expected = '//! Größe.\n\npub fn eins() -> u32 {\n    3\n}\n'
wait('the buffer has the edit', function()
  return table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, false), '\n') .. '\n' == expected
end)
wait('the file has the edit', function()
  return read(project .. '/src/lib.rs') == expected
end)
wait('the progress has an end', function()
  return vim.list_contains(ends, 'end')
end)
vim.fn.delete(work, 'rf')
io.stdout:write(passed .. ' passed, 0 failed\n')
vim.cmd('qall!')
