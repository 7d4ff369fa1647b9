-- Run by Neovim, head-less: opens leak.py with the server as docs/editors.md attaches it, and writes down what it sees.
local done = {}
local function wait(what, ready)
  if not vim.wait(60000, ready, 20) then error("waited in vain for " .. what) end
end
local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(0, method, params, 60000)
  for _, answer in pairs(answers or {}) do return answer.result end
end
local function here(line, col)
  vim.api.nvim_win_set_cursor(0, { line, col })
  local params = vim.lsp.util.make_range_params()
  params.context = { diagnostics = vim.lsp.diagnostic.get_line_diagnostics() }
  return params
end
local function apply(title)
  for _, action in ipairs(ask("textDocument/codeAction", here(9, 8))) do
    if vim.startswith(action.title, title) then
      if not action.edit then action = ask("codeAction/resolve", action) end
      vim.lsp.util.apply_workspace_edit(action.edit, "utf-16")
      return
    end
  end
  error("no action " .. title)
end
local function shown(count)
  wait(count .. " diagnostics", function() return #vim.diagnostic.get(0) == count end)
  return vim.diagnostic.get(0)
end
local function line() return vim.api.nvim_buf_get_lines(0, 8, 9, true)[1] end

dofile(vim.env.SETTINGS)
local ok, trouble = pcall(function()
  vim.cmd("edit leak.py")
  local found = shown(1)[1]
  done.found = { found.lnum, found.col, found.end_lnum, found.end_col, found.code, found.source, found.severity }
  here(9, 8)
  done.hover = ask("textDocument/hover", vim.lsp.util.make_position_params()).contents.value
  apply("Silence TLK401 here")
  done.silenced = line()
  shown(0)
  vim.cmd("undo")
  shown(1)
  apply("Fix TLK401: ")
  done.fixed = line()
  shown(0)
end)
done.trouble = not ok and tostring(trouble) or nil
vim.fn.writefile({ vim.fn.json_encode(done) }, "seen.json")
vim.cmd("qall!")
