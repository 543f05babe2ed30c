--- What the server sends: each handler turns a message into a call of the module that owns the matter.
local M = {}

--- Lets the user's own configuration follow: `User OutriggerEvent`, the message in `ev.data`.
---@param method string
---@param params table
---@param context { client_id: integer }
local function announce(method, params, context)
  vim.api.nvim_exec_autocmds('User', {
    pattern = 'OutriggerEvent',
    modeline = false,
    data = { method = method, params = params, client_id = context.client_id },
  })
end

function M.run_event(_, params, context)
  require('outrigger.runs').recorded(context.client_id, params.runId, params.record)
  announce('outrigger/run/event', params, context)
end

function M.run_interrupted(_, params, context)
  require('outrigger.runs').interrupted(context.client_id, params.run)
  announce('outrigger/run/interrupted', params, context)
end

function M.question_opened(_, params, context)
  require('outrigger.questions').opened(context.client_id, params.question)
  announce('outrigger/question/opened', params, context)
end

function M.question_resolved(_, params, context)
  require('outrigger.questions').resolved(params.questionId, params.state)
  announce('outrigger/question/resolved', params, context)
end

function M.document_save(_, params)
  return require('outrigger.document').save(params.uri)
end

function M.apply_edit(_, params, context)
  local client = assert(vim.lsp.get_client_by_id(context.client_id))
  return require('outrigger.document').apply(client, params.edit)
end

return M
