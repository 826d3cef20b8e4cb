-- Asks about keys chosen at random: wrk … -- KEYS METHOD TARGET [BODY], with KEY where the key is
-- to stand. All but the key is made once, and all keys are of one length, so that it costs little.

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
  math.randomseed(os.time())  -- otherwise every turn would ask about the same keys
end

function request()
  return before .. format(KEY, random(0, keys - 1)) .. after
end

function done(summary)
  local wrong = summary.errors
  local broken = wrong.connect + wrong.read + wrong.write + wrong.timeout
  local line = '{"requests":%d,"refused":%d,"broken":%d}\n'
  io.write(format(line, summary.requests, wrong.status, broken))
end
