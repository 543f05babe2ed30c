--- A test harness for `nvim -l`: named tests, waiting for facts, a closing line that CI counts.
local M = {
  passed = 0,
  failed = 0,
  after_failure = {}, ---@type (fun())[]
}

local only = vim.env.OUTRIGGER_TEST_ONLY

---@param name string
---@param body fun()
function M.test(name, body)
  if only and not name:find(only, 1, true) then
    return
  end
  local ok, problem = xpcall(body, debug.traceback)
  if ok then
    M.passed = M.passed + 1
  else
    M.failed = M.failed + 1
  end
  if not ok then
    -- What the test left behind must not fail the next ones.
    for _, clean_up in ipairs(M.after_failure) do
      pcall(clean_up)
    end
  end
  io.stdout:write((ok and 'ok   ' or 'FAIL ') .. name .. (ok and '' or '\n' .. tostring(problem)) .. '\n')
  io.stdout:flush()
end

--- Waits until `fact` gives something true, and gives it back.
---@generic T
---@param what string
---@param fact fun(): T
---@param timeout_ms integer?
---@return T
function M.wait(what, fact, timeout_ms)
  local value
  local there = vim.wait(timeout_ms or 20000, function()
    value = fact()
    return value ~= nil and value ~= false
  end, 5)
  if not there then
    error(('waited in vain for %s'):format(what), 2)
  end
  return value
end

---@param expected any
---@param actual any
---@param what string?
function M.equal(expected, actual, what)
  if not vim.deep_equal(expected, actual) then
    error(('%s\nexpected %s\n     got %s'):format(what or 'not equal', vim.inspect(expected), vim.inspect(actual)), 2)
  end
end

---@param expected string
---@param actual string?
function M.contains(expected, actual)
  if type(actual) ~= 'string' or not actual:find(expected, 1, true) then
    error(('expected a text with %q\n     got %s'):format(expected, vim.inspect(actual)), 2)
  end
end

---@param path string
---@return string?
function M.read(path)
  local file = io.open(path, 'rb')
  if not file then
    return nil
  end
  local text = file:read('*a')
  file:close()
  return text
end

---@param path string
---@param text string
function M.write(path, text)
  vim.fn.mkdir(vim.fs.dirname(path), 'p')
  local file = assert(io.open(path, 'wb'))
  file:write(text)
  file:close()
end

---@return string
function M.folder()
  local folder = vim.fn.tempname()
  vim.fn.mkdir(folder, 'p')
  return assert(vim.uv.fs_realpath(folder))
end

--- Replaces a field for the time of `body`.
---@param table table
---@param field string
---@param value any
---@param body fun()
function M.with(table, field, value, body)
  local before = table[field]
  table[field] = value
  local ok, problem = xpcall(body, debug.traceback)
  table[field] = before
  if not ok then
    error(problem, 0)
  end
end

--- The closing line, and the exit code.
function M.finish()
  for _, client in ipairs(vim.lsp.get_clients()) do
    client:stop(true)
  end
  io.stdout:write(('\n%d passed, %d failed\n'):format(M.passed, M.failed))
  io.stdout:flush()
  os.exit(M.failed == 0 and M.passed > 0 and 0 or 1)
end

return M
