-- Edits of buffers, byte for byte: against a reference that works on the text as one string.
local t = require('harness')
local edit = require('outrigger.edit')
local reference = require('reference').apply

local function range(first, first_column, last, last_column, text)
  return {
    range = {
      start = { line = first, character = first_column },
      ['end'] = { line = last, character = last_column },
    },
    newText = text,
  }
end

--- A buffer with this text, as Neovim reads it from a file.
local function open(text)
  local path = t.folder() .. '/text'
  t.write(path, text)
  vim.cmd.edit(vim.fn.fnameescape(path))
  return vim.api.nvim_get_current_buf(), path
end

local function apply(buffer, edits, encoding)
  local plan, problem = edit.plan(edit.text_of(buffer), edits, encoding or 'utf-8')
  assert(plan, problem)
  edit.perform(buffer, plan)
end

t.test('edits give the text that the protocol says, at the end of the text too', function()
  local rows = {
    { 'replaced word', 'a\nb c\nd\n', { range(1, 2, 1, 3, 'X') } },
    { 'whole text', 'a\nb\n', { range(0, 0, 2, 0, 'x\ny\nz\n') } },
    { 'whole text without an end', 'a\nb\n', { range(0, 0, 2, 0, 'x\ny') } },
    { 'an end comes', 'a\nb', { range(1, 1, 1, 1, '\n') } },
    { 'lines and an end come', 'a\nb', { range(1, 1, 1, 1, '\nc\n') } },
    { 'the end goes', 'a\nb\n', { range(1, 1, 2, 0, '') } },
    { 'last line goes', 'a\nb\n', { range(1, 0, 2, 0, '') } },
    { 'last line and the end before it go', 'a\nb\n', { range(0, 1, 2, 0, '') } },
    { 'all goes', 'a\nb\n', { range(0, 0, 2, 0, '') } },
    { 'appended', 'a\n', { range(1, 0, 1, 0, 'b\nc\n') } },
    { 'appended without an end', 'a\n', { range(1, 0, 1, 0, 'b') } },
    { 'two at the end', 'a\n', { range(1, 0, 1, 0, 'b\n'), range(1, 0, 1, 0, 'c\n') } },
    { 'last line changed and one appended', 'a\nb\n', { range(1, 0, 1, 1, 'B'), range(2, 0, 2, 0, 'c\n') } },
    { 'several', 'a\nb\nc\nd\n', { range(0, 0, 1, 0, ''), range(2, 0, 2, 1, 'C\nC2'), range(4, 0, 4, 0, 'e\n') } },
    { 'dos', 'a\r\nb\r\n', { range(1, 0, 1, 1, 'x\r\ny') } },
    { 'mixed ends stay', 'a\r\nb\nc\r\n', { range(1, 0, 1, 1, 'x\r\ny') } },
    { 'not ASCII', 'é漢😀b\n', { range(0, 9, 0, 10, 'ß') } },
  }
  for _, row in ipairs(rows) do
    local name, text, edits = unpack(row)
    local buffer, path = open(text)
    local before = vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
    apply(buffer, edits)
    local expected = reference(text, edits)
    t.equal(expected, edit.joined(edit.text_of(buffer)), name)
    vim.bo[buffer].fixendofline = false
    vim.cmd('silent write')
    t.equal(expected, t.read(path), name .. ', on disk')
    vim.cmd('silent undo')
    -- Undo gives the lines back; an end of the last line that came or went is no part of Neovim's undo.
    t.equal(before, vim.api.nvim_buf_get_lines(buffer, 0, -1, true), name .. ', undone')
    vim.cmd('bwipeout!')
  end
end)

t.test('edits of random texts equal the reference', function()
  local seed = tonumber(vim.env.OUTRIGGER_TEST_SEED) or os.time()
  math.randomseed(seed)
  local words = { 'a', 'b c', '', 'é', '漢字', '😀', 'tail ' }
  local function some_text(limit)
    local parts = {}
    for _ = 1, math.random(0, limit) do
      parts[#parts + 1] = words[math.random(#words)]
      parts[#parts + 1] = math.random() < 0.7 and '\n' or ''
    end
    return table.concat(parts)
  end
  for round = 1, 400 do
    local text = some_text(8)
    if text ~= '' then
      local buffer = open(text)
      -- An edit list that does not overlap: places in order, taken in pairs.
      local lines = vim.split(text, '\n', { plain = true })
      local places = {}
      for _ = 1, 2 * math.random(1, 3) do
        local row = math.random(0, #lines - 1)
        local columns = vim.str_utf_pos(lines[row + 1])
        columns[#columns + 1] = #lines[row + 1] + 1
        places[#places + 1] = { line = row, character = columns[math.random(#columns)] - 1 }
      end
      table.sort(places, function(a, b)
        return a.line < b.line or (a.line == b.line and a.character < b.character)
      end)
      local edits = {}
      for index = 1, #places, 2 do
        local from, to = places[index], places[index + 1]
        edits[#edits + 1] = range(from.line, from.character, to.line, to.character, some_text(3))
      end
      local expected = reference(text, edits)
      apply(buffer, edits)
      local actual = edit.joined(edit.text_of(buffer))
      -- A buffer cannot tell an empty text from one empty line.
      if not (expected == '' and actual == '\n') then
        t.equal(
          expected,
          actual,
          ('seed %d, round %d: %s %s'):format(seed, round, vim.inspect(text), vim.inspect(edits))
        )
      end
      vim.cmd('bwipeout!')
    end
  end
end)

t.test('UTF-16 columns are counted in UTF-16', function()
  local buffer = open('é漢😀b\n')
  apply(buffer, { range(0, 4, 0, 5, 'ß') }, 'utf-16')
  t.equal({ 'é漢😀ß' }, vim.api.nvim_buf_get_lines(buffer, 0, -1, true))
  vim.cmd('bwipeout!')
end)

t.test('edits that cannot be made are refused and change nothing', function()
  local buffer = open('a\r\nb\r\n')
  local text = edit.text_of(buffer)
  local plan, problem = edit.plan(text, { range(0, 0, 0, 1, 'x\ny') }, 'utf-8')
  t.equal(nil, plan)
  t.contains('carriage return', problem)
  plan, problem = edit.plan(text, { range(0, 0, 1, 0, ''), range(0, 1, 1, 1, '') }, 'utf-8')
  t.equal(nil, plan)
  t.contains('overlap', problem)
  plan, problem = edit.plan(text, { range(1, 0, 0, 0, '') }, 'utf-8')
  t.equal(nil, plan)
  t.contains('before it starts', problem)
  vim.cmd('bwipeout!')
end)

t.test('marks, extmarks, folds, the cursor and registers stay, and undo is one step', function()
  local buffer = open('one\ntwo\nthree\nfour\nfive\nsix\n')
  vim.o.foldmethod = 'manual'
  vim.cmd('5,6fold')
  vim.cmd('normal! zM')
  for name, row in pairs({ a = 1, b = 3, c = 6, B = 3, C = 5 }) do
    vim.api.nvim_buf_set_mark(buffer, name, row, 1, {})
  end
  local namespace = vim.api.nvim_create_namespace('test')
  local extmark = vim.api.nvim_buf_set_extmark(buffer, namespace, 3, 2, {})
  vim.api.nvim_win_set_cursor(0, { 4, 2 })
  -- The user's own change is a step of its own.
  vim.cmd('normal! x')
  vim.fn.setreg('"', 'mine')
  apply(buffer, { range(0, 0, 0, 0, 'zero\n'), range(2, 0, 3, 0, 'THREE\nthree and a half\n') })
  t.equal(
    { 'zero', 'one', 'two', 'THREE', 'three and a half', 'for', 'five', 'six' },
    vim.api.nvim_buf_get_lines(buffer, 0, -1, true)
  )
  t.equal({ 6, 2 }, vim.api.nvim_win_get_cursor(0))
  local function mark(name)
    return vim.api.nvim_buf_get_mark(buffer, name)[1]
  end
  t.equal({ 2, 4, 8, 4, 7 }, { mark('a'), mark('b'), mark('c'), mark('B'), mark('C') })
  t.equal({ 5, 2 }, vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, extmark, {}))
  t.equal({ 7, 8 }, { vim.fn.foldclosed(7), vim.fn.foldclosedend(7) })
  t.equal('mine', vim.fn.getreg('"'))
  vim.cmd('silent undo')
  t.equal({ 'one', 'two', 'three', 'for', 'five', 'six' }, vim.api.nvim_buf_get_lines(buffer, 0, -1, true))
  vim.cmd('silent undo')
  t.equal('four', vim.api.nvim_buf_get_lines(buffer, 3, 4, true)[1])
  vim.cmd('bwipeout!')
end)
