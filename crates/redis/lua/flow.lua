-- Flow: the rule of gcra and token-bucket. A bucket that drains evenly.
--
-- State, 22 bytes: the tick at which the bucket will be empty, the rest of that instant in parts of a
-- tick, and the pace it was written under: one unit drains in `ticks / parts` ticks. Alone, where it can be: one
-- decimal number (decimal.lua).
--
-- Sections: see README.md. This rule's own: `read_cost`, `read_body` and `convert_cost`.
--
-- Expects, read only:
-- luacheck: read globals args at unpack pack
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject allowed debt_too_large
-- Placeholders (see README.md):
-- luacheck: read globals BODY ARGUMENT MAX_SPAN DECIMAL_SUFFICES
-- BODY stands for several values.
-- luacheck: ignore 532

--: read_cost
-- Most operations need only the time in which the cost drains; then the assembler leaves this out.
local cost = unpack('<I4', args, ARGUMENT)

--: load
--+ read_cost
-- The numbers of the limit come as doubles, which are read in half the time of integers.
local cost_ticks, cost_parts, room_ticks, room_parts, ticks, parts, pace = unpack('<ddddddd', args, ARGUMENT + 4)
local empty_at, empty_parts, old_ticks, old_parts = at, 0, ticks, parts
local live, reset_at, now, muldiv = false, 0, at, nil
if limit.body_at then
  --+ read_body
  live = empty_at > at or empty_at == at and empty_parts > 0
  if not live then
    empty_at, empty_parts, old_ticks, old_parts = at, 0, ticks, parts
  else
    reset_at = empty_parts > 0 and empty_at + 1 or empty_at
    if old_ticks ~= ticks or old_parts ~= parts then
      if old_ticks < 1 or old_ticks > MAX_SPAN or old_parts < 1 then
        return redis.error_reply('TGSTATE a bucket that would never drain')
      end
      --+ muldiv
      -- At + 60: capacity less cost, in units.
      if room_ticks >= 0 then
        room_ticks, room_parts = muldiv(unpack('<d', args, ARGUMENT + 60), old_ticks, 0, old_parts)
      end
    end
  end
end

--: read_record
empty_at, empty_parts, old_ticks, old_parts = BODY

--: read_body
--+ read_record

--: read_body or_decimal
if limit.body_at > 1 then
  --+ read_record
else
  --+ read_decimal
end

--: fits
local drains_in = empty_at - now
if not (drains_in < room_ticks or drains_in == room_ticks and empty_parts <= room_parts) then allowed = false end

--: read_run_cost
-- luacheck: read globals place muldiv
-- luacheck: globals cost
do
  local room
  cost, cost_ticks, cost_parts, room_ticks, room_parts, room = unpack('<I4ddddd', args, place)
  if room_ticks >= 0 and (old_ticks ~= ticks or old_parts ~= parts) then
    room_ticks, room_parts = muldiv(room, old_ticks, 0, old_parts)
  end
end

--: fits_times
-- luacheck: read globals times
do
  local empty_at, empty_parts, before = empty_at, empty_parts, times - 1
  if before > 0 then
    -- The first check converts a state at another pace, and all others are counted after that.
    if old_ticks ~= ticks or old_parts ~= parts then allowed = false end
    empty_parts = empty_parts + before * cost_parts
    local carry = math.floor(empty_parts / parts)
    empty_at, empty_parts = empty_at + before * cost_ticks + carry, empty_parts - carry * parts
  end
  --+ fits
end

--: take_times
do
  local cost_ticks, cost_parts = times * cost_ticks, times * cost_parts
  local carry = math.floor(cost_parts / parts)
  cost_ticks, cost_parts = cost_ticks + carry, cost_parts - carry * parts
  --+ take
end

--: convert_cost
-- For another cost than the one that came with the arguments: in how many ticks it drains.
--+ muldiv
cost_ticks, cost_parts = muldiv(cost, ticks, 0, parts)

--: take
if old_ticks ~= ticks or old_parts ~= parts then
  -- The level stays the same at the new pace, rounded up so that no usage is forgotten.
  local units, rest = muldiv(empty_at - now, old_parts, empty_parts, old_ticks)
  local more, left = muldiv(rest, ticks, 0, old_ticks)
  if left > 0 then more = more + 1 end
  empty_at, empty_parts = muldiv(units, ticks, more, parts)
  empty_at, old_ticks, old_parts = now + empty_at, ticks, parts
end
empty_at, empty_parts, live = empty_at + cost_ticks, empty_parts + cost_parts, true
if empty_parts >= parts then empty_at, empty_parts = empty_at + 1, empty_parts - parts end

--: check_debt
-- At + 68: the longest that the bucket may take to drain.
local max_ticks, max_parts = unpack('<dd', args, ARGUMENT + 68)
debt_too_large = empty_at - now > max_ticks or empty_at - now == max_ticks and empty_parts > max_parts

--: give
do
  local given_ticks, given_parts = cost_ticks, cost_parts
  if old_ticks ~= ticks or old_parts ~= parts then
    --+ muldiv
    given_ticks, given_parts = muldiv(cost, old_ticks, 0, old_parts)
  end
  empty_at, empty_parts = empty_at - given_ticks, empty_parts - given_parts
  if empty_parts < 0 then empty_at, empty_parts = empty_at - 1, empty_parts + old_parts end
  live = empty_at > now or empty_at == now and empty_parts > 0
end

--: begin_refundable
--+ muldiv
local level = live and muldiv(empty_at - now, old_parts, empty_parts, old_ticks) or 0

--: refundable
-- luacheck: globals refundable level
refundable = level

--: least_refundable
-- luacheck: globals least
--+ begin_refundable
least = level

--: refundable_of_group
-- luacheck: globals least same
least, same = level, true

--: overlap
-- luacheck: globals overlap unspent
overlap = unspent

--: save
--+ save_decimal
if live then
  limit.new_body = not (DECIMAL_SUFFICES) and pack('<I7I4I7I4', empty_at, empty_parts, old_ticks, old_parts)
  limit.new_expiry = empty_parts > 0 and empty_at + 1 or empty_at
else
  limit.new_body, limit.new_expiry = false, 0
end
