-- Read by vim.lsp.enable('outrigger'); the functions load the plugin when they are first called.

---@param name string
local function handler(name)
  return function(err, params, context)
    return require('outrigger.handlers')[name](err, require('outrigger.client').without_null(params), context)
  end
end

---@type vim.lsp.Config
return {
  cmd = { 'outrigger', 'lsp' },
  root_dir = function(buffer, on_dir)
    local root = require('outrigger.client').root_of(buffer)
    if root then
      on_dir(root)
    end
  end,
  capabilities = {
    experimental = {
      outrigger = { version = 1, events = true, questions = true, save = true },
    },
  },
  flags = { debounce_text_changes = 50 },
  get_language_id = function(_, filetype)
    return filetype ~= '' and filetype or 'plaintext'
  end,
  on_init = function(client)
    require('outrigger.client').on_init(client)
  end,
  on_exit = function(code, signal, client_id)
    require('outrigger.client').on_exit(code, signal, client_id)
  end,
  handlers = {
    ['outrigger/run/event'] = handler('run_event'),
    ['outrigger/run/interrupted'] = handler('run_interrupted'),
    ['outrigger/question/opened'] = handler('question_opened'),
    ['outrigger/question/resolved'] = handler('question_resolved'),
    ['outrigger/document/save'] = handler('document_save'),
    ['workspace/applyEdit'] = handler('apply_edit'),
  },
}
