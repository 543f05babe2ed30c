--- Text edits on a string, as plainly as can be: what the plugin's edits of buffers are measured by.
local M = {}

--- What the edits make of a text, by the protocol's own words: on the string, columns in bytes.
function M.apply(text, edits)
  local starts = { 1 }
  for at in text:gmatch('()\n') do
    starts[#starts + 1] = at + 1
  end
  local function offset(position)
    if position.line >= #starts then
      return #text + 1
    end
    local start = starts[position.line + 1]
    local line = text:match('^[^\r\n]*', start)
    return start + math.min(position.character, #line)
  end
  local parts = {}
  for index, item in ipairs(edits) do
    parts[index] =
      { from = offset(item.range.start), to = offset(item.range['end']), text = item.newText, index = index }
  end
  table.sort(parts, function(a, b)
    if a.from ~= b.from then
      return a.from > b.from
    end
    return a.index > b.index
  end)
  for _, part in ipairs(parts) do
    text = text:sub(1, part.from - 1) .. part.text .. text:sub(part.to)
  end
  return text
end

return M
