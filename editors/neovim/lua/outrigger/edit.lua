--- Edits of a buffer, byte for byte.
---
--- Neovim's own `vim.lsp.util.apply_text_edits` cannot add or take away the last line's end, drops carriage returns of
--- files with mixed line ends, and puts marks back on the wrong line. Text that goes to disk must be exactly what was
--- decided, so the edits are planned here (`plan` touches no buffer) and then performed (`perform`).
local M = {}

---@class outrigger.edit.Operation
---@field first integer 0-based row of the start
---@field first_column integer in bytes
---@field last integer 0-based row of the end
---@field last_column integer in bytes
---@field lines string[]? text to put there; nil: delete the rows `first` to `last - 1` whole
---@field append boolean? put `lines` after the last row
---@field insert boolean? put `lines` before the row `first`

---@class outrigger.edit.Plan
---@field operations outrigger.edit.Operation[] from the end of the text to its start
---@field endofline boolean whether the last line has an end afterwards

---@class outrigger.edit.Text
---@field lines string[]
---@field endofline boolean
---@field fileformat 'unix'|'dos'|'mac'

---@param text string
---@param fileformat string
---@return string[]? lines
---@return string? problem
local function split(text, fileformat)
  if fileformat == 'dos' then
    local plain = text:gsub('\r\n', '\n')
    local _, ends = text:gsub('\n', '')
    local _, pairs_of_both = text:gsub('\r\n', '')
    if ends ~= pairs_of_both then
      return nil, "the new text has line ends without a carriage return, and the buffer's fileformat is dos"
    end
    return vim.split(plain, '\n', { plain = true })
  elseif fileformat == 'mac' then
    return vim.split(text, '\r', { plain = true })
  end
  return vim.split(text, '\n', { plain = true })
end

---@param line string
---@param character integer
---@param encoding string
local function byte_column(line, character, encoding)
  if encoding == 'utf-8' then
    return math.min(character, #line)
  end
  return vim.str_byteindex(line, encoding, character, false)
end

--- Says an operation in terms of whole lines where it can be, because that leaves the marks of the lines below alone.
---@param operation outrigger.edit.Operation
---@param old string[]
local function whole_lines(operation, old)
  local lines = operation.lines
  if operation.last_column ~= 0 or lines[#lines] ~= '' then
    return
  elseif operation.first == operation.last then
    if operation.first_column == 0 and #lines > 1 then
      table.remove(lines)
      operation.insert = true
    end
  elseif #lines > 1 then
    table.remove(lines)
    operation.last = operation.last - 1
    operation.last_column = #old[operation.last + 1]
  elseif operation.first_column == 0 then
    operation.lines = nil
  end
end

--- What has to be done to a buffer with this text, so that it holds what the edits make of it.
---@param text outrigger.edit.Text
---@param edits lsp.TextEdit[]
---@param encoding 'utf-8'|'utf-16'|'utf-32'
---@return outrigger.edit.Plan?
---@return string? problem
function M.plan(text, edits, encoding)
  local count = #text.lines
  local endofline = text.endofline

  -- A position as row and byte column. With an end of the last line there is an empty row after it.
  local function place(position)
    if position.line >= count then
      if endofline then
        return count, 0
      end
      return count - 1, #text.lines[count]
    end
    return position.line, byte_column(text.lines[position.line + 1], position.character, encoding)
  end

  local ordered = {}
  for index, edit in ipairs(edits) do
    local first, first_column = place(edit.range.start)
    local last, last_column = place(edit.range['end'])
    if first > last or (first == last and first_column > last_column) then
      return nil, 'an edit ends before it starts'
    end
    ordered[index] = {
      index = index,
      first = first,
      first_column = first_column,
      last = last,
      last_column = last_column,
      text = edit.newText,
    }
  end
  table.sort(ordered, function(a, b)
    if a.first ~= b.first then
      return a.first > b.first
    elseif a.first_column ~= b.first_column then
      return a.first_column > b.first_column
    end
    return a.index > b.index
  end)

  -- Edits that touch become one, so that at most one reaches the end of the text.
  local separate = {} ---@type table[]
  for _, edit in ipairs(ordered) do
    local below = separate[#separate]
    local touches = below and edit.last == below.first and edit.last_column == below.first_column
    if touches then
      below.first, below.first_column = edit.first, edit.first_column
      below.text = edit.text .. below.text
    elseif
      below and (edit.last > below.first or (edit.last == below.first and edit.last_column > below.first_column))
    then
      return nil, 'two edits overlap'
    else
      separate[#separate + 1] = edit
    end
  end

  local operations = {}
  for _, edit in ipairs(separate) do
    local lines, problem = split(edit.text, text.fileformat)
    if not lines then
      return nil, problem
    end
    local operation = {
      first = edit.first,
      first_column = edit.first_column,
      last = edit.last,
      last_column = edit.last_column,
      lines = lines,
    }
    local reaches_end = edit.last == count
      or (not text.endofline and edit.last == count - 1 and edit.last_column == #text.lines[count])
    if reaches_end then
      -- The end of the text is replaced, so what is put there decides whether the last line has an end.
      local prefix = ''
      if edit.first < count and #lines == 1 then
        prefix = text.lines[edit.first + 1]:sub(1, edit.first_column)
      end
      operation.append = edit.first == count
      operation.last = count - 1
      operation.last_column = #text.lines[count]
      endofline = prefix .. lines[#lines] == ''
      if endofline and #lines > 1 then
        table.remove(lines)
      elseif endofline then
        operation.lines = nil
        operation.last = count
        -- Nothing at all is left: the empty text has no line that could end.
        endofline = edit.first > 0
      end
    else
      whole_lines(operation, text.lines)
    end
    operations[#operations + 1] = operation
  end
  return { operations = operations, endofline = endofline }
end

--- Marks of a buffer that an edit of their line would delete: a-z and A-Z.
---@param buffer integer
---@return table<string, integer[]>
local function marks_of(buffer)
  local marks = {}
  for _, mark in ipairs(vim.fn.getmarklist(buffer)) do
    if mark.mark:match("^'%l$") then
      marks[mark.mark:sub(2)] = { mark.pos[2], mark.pos[3] - 1 }
    end
  end
  for _, mark in ipairs(vim.fn.getmarklist()) do
    if mark.mark:match("^'%u$") and mark.pos[1] == buffer then
      marks[mark.mark:sub(2)] = { mark.pos[2], mark.pos[3] - 1 }
    end
  end
  return marks
end

---@param buffer integer
---@param operation outrigger.edit.Operation
local function perform(buffer, operation)
  if operation.append then
    if operation.lines then
      vim.api.nvim_buf_set_lines(buffer, -1, -1, true, operation.lines)
    end
  elseif operation.insert then
    vim.api.nvim_buf_set_lines(buffer, operation.first, operation.first, true, operation.lines)
  elseif operation.lines then
    vim.api.nvim_buf_set_text(
      buffer,
      operation.first,
      operation.first_column,
      operation.last,
      operation.last_column,
      operation.lines
    )
  else
    vim.api.nvim_buf_set_lines(buffer, operation.first, operation.last, true, {})
  end
end

--- Performs a plan: one step of undo of its own, marks kept.
---@param buffer integer
---@param plan outrigger.edit.Plan
function M.perform(buffer, plan)
  -- Setting the option, even to what it is, ends the undo step that the user's typing may have open.
  local function end_undo_step()
    vim.bo[buffer].undolevels = vim.bo[buffer].undolevels
  end
  end_undo_step()
  for _, operation in ipairs(plan.operations) do
    local before = marks_of(buffer)
    local last_line = vim.api.nvim_buf_get_lines(buffer, operation.last, operation.last + 1, false)[1] or ''
    -- Lines that are replaced whole. What becomes of their marks differs between versions of Neovim: they are deleted, or
    -- pushed behind the new text.
    local first_whole = operation.first + (operation.first_column == 0 and 0 or 1)
    local last_whole = operation.last - (operation.last_column >= #last_line and 0 or 1)
    local replaces = operation.lines and not operation.insert and not operation.append
    perform(buffer, operation)
    local after = marks_of(buffer)
    local count = vim.api.nvim_buf_line_count(buffer)
    local last_new = operation.first + math.max(#(operation.lines or {}), 1)
    for name, at in pairs(before) do
      local is_whole = replaces and at[1] - 1 >= first_whole and at[1] - 1 <= last_whole
      if not after[name] or is_whole then
        local row = math.max(1, math.min(at[1], last_new, count))
        local line = vim.api.nvim_buf_get_lines(buffer, row - 1, row, true)[1]
        vim.api.nvim_buf_set_mark(buffer, name, row, math.min(at[2], #line), {})
      end
    end
  end
  if vim.bo[buffer].endofline ~= plan.endofline then
    vim.bo[buffer].endofline = plan.endofline
  end
  end_undo_step()
end

--- The buffer's text as `plan` takes it.
---@param buffer integer
---@return outrigger.edit.Text
function M.text_of(buffer)
  return {
    lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, true),
    endofline = vim.bo[buffer].endofline,
    fileformat = vim.bo[buffer].fileformat,
  }
end

--- The text as a language server knows it.
---@param text outrigger.edit.Text
---@return string
function M.joined(text)
  local line_end = ({ dos = '\r\n', mac = '\r' })[text.fileformat] or '\n'
  return table.concat(text.lines, line_end) .. (text.endofline and line_end or '')
end

return M
