-- What is kept of a limit apart from the value of its subject, so that no operation reads or writes more than it
-- needs: copying what is long takes most of the time of a script. The key of the subject then holds a hash: the value
-- is its field `s`, and the parts are other fields, which begin with the position of the limit. It is one key, since a
-- cluster node that has only one of two keys, while their slot moves, could do nothing with them.
--
-- `limit.apart` has the key, the parts as they were read or changed, and which are changed. A part that is gone is
-- false. Nothing is written before all limits have decided.
--
-- Sections:
--   open_apart     defines limit.apart, and the functions that read and change a part unless they are defined already:
--                  making a function takes as long as reading a number, and most operations need none
--   collect_part   adds what was changed to `set` and `gone`
--
-- Expects, read only:
-- luacheck: read globals call
-- luacheck: read globals apart field part
-- Expects and assigns (see README.md):
-- luacheck: globals limit read_part change_part damaged
-- Placeholders (see README.md):
-- luacheck: read globals SUBJECT_KEY POSITION

--: open_apart
read_part = read_part or function(apart, field)
  local part = apart.parts[field]
  if part == nil then
    part = call('HGET', apart.key, apart.prefix .. field)
    apart.parts[field] = part
  end
  return part
end
change_part = change_part or function(apart, field, part)
  apart.parts[field], apart.changed[field] = part, true
end
damaged = damaged or function()
  error(redis.error_reply('TGSTATE what is kept apart for a limit does not belong to its state'))
end
limit.apart = limit.apart or { key = KEYS[SUBJECT_KEY], prefix = 'POSITION', parts = {}, changed = {} }

--: collect_part
-- luacheck: globals set gone
-- A limit that stays as it was keeps its parts.
if limit.apart and (limit.new_body ~= nil or limit.new_reservations ~= nil) then
  for field in pairs(limit.apart.changed) do
    local part = limit.apart.parts[field]
    -- Blocks belong to the body: where that stays, they do.
    if limit.new_body ~= nil or not field:find('^[bf]') then
      field = limit.apart.prefix .. field
      if part then
        set[#set + 1], set[#set + 2] = field, part
      else
        gone[#gone + 1] = field
      end
    end
  end
end
