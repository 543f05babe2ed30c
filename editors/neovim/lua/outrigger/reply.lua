--- Answering in one's own words in a buffer: writing it answers, closing it does not.
local questions = require('outrigger.questions')

local M = {}

--- The text before the first line that was there when the buffer opened.
---@param buffer integer
---@return string
local function reply_of(buffer)
  local lines = {}
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, true)) do
    if vim.startswith(line, '# ---') then
      break
    end
    lines[#lines + 1] = line
  end
  return vim.trim(table.concat(lines, '\n'))
end

---@param id string
function M.open(id)
  local question = questions.get(id)
  if not question then
    return vim.notify(('Outrigger: question %s is not open any more'):format(id), vim.log.levels.WARN)
  end
  local overwrite = questions.kind_of(question) == 'overwrite'
  if not overwrite and not question.freeText then
    return vim.notify('Outrigger: this question takes one of its choices; use :Outrigger answer', vim.log.levels.WARN)
  end
  local name = ('outrigger://%s/reply'):format(id)
  local buffer = vim.fn.bufadd(name)
  if not vim.api.nvim_buf_is_loaded(buffer) then
    vim.fn.bufload(buffer)
    vim.bo[buffer].buftype = 'acwrite'
    vim.bo[buffer].bufhidden = 'hide'
    vim.bo[buffer].swapfile = false
    vim.bo[buffer].filetype = 'markdown'
    local lines = {
      '',
      overwrite and '# --- Say why the file shall stay as it is; :w sends it.'
        or '# --- Write your answer above; :w sends it, :q! does not.',
      '# ' .. questions.headline(question),
    }
    for _, line in ipairs(vim.split(question.detail or '', '\n')) do
      lines[#lines + 1] = '# ' .. line
    end
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    vim.bo[buffer].modified = false
    vim.api.nvim_create_autocmd('BufWriteCmd', {
      buffer = buffer,
      callback = function()
        local text = reply_of(buffer)
        if text == '' then
          vim.notify('Outrigger: the answer is empty; nothing was sent', vim.log.levels.WARN)
          return
        end
        local answer = overwrite and { type = 'keepMine', reason = text } or { type = 'text', text = text }
        vim.bo[buffer].modified = false
        questions.answer(id, answer, nil, function(err)
          if vim.api.nvim_buf_is_valid(buffer) then
            vim.bo[buffer].modified = true
          end
          require('outrigger.client').tell(err)
        end)
      end,
    })
    questions.view(id, 'reply', function()
      if not vim.api.nvim_buf_is_valid(buffer) then
        return
      elseif vim.bo[buffer].modified then
        -- Someone else answered first; what was typed stays readable.
        vim.notify(('Outrigger: your reply is kept in buffer %d'):format(buffer), vim.log.levels.WARN)
        vim.bo[buffer].buflisted = true
        vim.bo[buffer].buftype = 'nofile'
      else
        vim.api.nvim_buf_delete(buffer, { force = true })
      end
    end)
  end
  vim.cmd({ cmd = 'sbuffer', args = { tostring(buffer) }, mods = { keepalt = true, split = 'botright' } })
  vim.api.nvim_win_set_height(0, math.min(10, vim.o.lines))
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
end

return M
