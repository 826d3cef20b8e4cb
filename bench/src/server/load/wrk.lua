-- Requests with random keys: wrk … -- KEYS METHOD TARGET [BODY], where KEY stands for the key.
-- Everything but the key is built once, and all keys have the same length, so that it costs little.

local random, format = math.random, string.format
local KEY = "key:%012d"
local keys, before, after

local function head(method, target, body)
  local lines = { method .. " " .. target .. " HTTP/1.1", "Host: localhost" }
  if body ~= "" then
    local length = #body:gsub("KEY", format(KEY, 0))
    lines[#lines + 1] = "Content-Type: application/json"
    lines[#lines + 1] = "Content-Length: " .. length
  end
  return table.concat(lines, "\r\n") .. "\r\n\r\n"
end

function init(args)
  keys = tonumber(args[1])
  local method, target, body = args[2], args[3], args[4] or ""
  local whole = head(method, target, body) .. body
  local first, last = whole:find("KEY", 1, true)
  before, after = whole:sub(1, first - 1), whole:sub(last + 1)
  math.randomseed(os.time())  -- otherwise every turn would use the same keys
end

function request()
  return before .. format(KEY, random(0, keys - 1)) .. after
end

function done(summary)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout
  local line = '{"requests":%d,"errors":%d,"failed":%d}\n'
  io.write(format(line, summary.requests, errors.status, failed))
end
