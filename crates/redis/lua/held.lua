-- Held: the rule of concurrency. Leases that end when they are released or expire.
--
-- State: the size of what follows (4 bytes), how much all leases hold (7), and the leases in the order of their
-- ends, of equal ends the newest last. A lease has LEASE_BYTES: when it ends (7), how much it holds (7) and its
-- handle (16). They stay bytes: making a table of each of 9,000 took 14 ms.
--
-- Sections: see README.md. This rule's own: `tidy` and `insert` change `leases`; `own_leases` finds those of
-- `handle`, and `write_own` writes how much they hold; `release`, `renew` and `rename` are what only this rule does
-- for an operation.
--
-- Expects, read only:
-- luacheck: read globals args at handle new_handle unpack pack sub find floor
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject allowed debt_too_large applied summary
-- Expects, in the sections about reservations:
-- luacheck: read globals holder settled_at
-- Placeholders:
-- luacheck: read globals ARGUMENT MAX_COUNT MAX_ENTRIES LEASE_BYTES

--: load
-- `leases` are those that have not ended, `used` is how much they hold, `reset_at` when the last of them ends.
local cost, capacity, ttl = unpack('<I4I4I7', args, ARGUMENT)
local live, reset_at, now, used, leases, has_ended = false, 0, at, 0, '', false
if limit.body_at then
  local size, total = unpack('<I4I7', subject.value, limit.body_at)
  local first_at, past = limit.body_at + 11, limit.body_at + 4 + size
  local last_end = unpack('<I7', subject.value, past - LEASE_BYTES)
  live = now < last_end
  if live then
    local lease_end, count = unpack('<I7I7', subject.value, first_at)
    while lease_end <= now do
      total, first_at, has_ended = total - count, first_at + LEASE_BYTES, true
      lease_end, count = unpack('<I7I7', subject.value, first_at)
    end
    used, reset_at, leases = total, last_end, sub(subject.value, first_at, past - 1)
  end
end

--: fits
if used + cost > capacity then allowed = false end

--: insert
-- luacheck: read globals lease_end inserted
-- Inserts leases that end at `lease_end`, as bytes, after all that do not end later.
if lease_end >= reset_at then
  leases, reset_at = leases .. inserted, lease_end
else
  local first, past = 0, #leases / LEASE_BYTES
  while first < past do
    local middle = floor((first + past) / 2)
    if unpack('<I7', leases, middle * LEASE_BYTES + 1) > lease_end then past = middle else first = middle + 1 end
  end
  leases = sub(leases, 1, first * LEASE_BYTES) .. inserted .. sub(leases, first * LEASE_BYTES + 1)
end

--: take
do
  local lease_end = now + ttl
  local inserted = pack('<I7I7c16', lease_end, cost, handle)
  --+ insert
  used, live = used + cost, true
end

--: check_debt
debt_too_large = used > MAX_COUNT or #leases > MAX_ENTRIES * LEASE_BYTES

--: tidy
live = leases ~= ''
reset_at = live and unpack('<I7', leases, #leases - LEASE_BYTES + 1) or 0

--: give
-- Ends leases of up to `cost`, the last to end first.
do
  local left, past, rest = cost < used and cost or used, #leases + 1, ''
  used, has_ended = used - left, true
  while left > 0 do
    past = past - LEASE_BYTES
    local lease_end, count, holder = unpack('<I7I7c16', leases, past)
    if count > left then rest = pack('<I7I7c16', lease_end, count - left, holder) end
    left = left - count
  end
  leases = sub(leases, 1, past - 1) .. rest
  --+ tidy
end

--: own_leases
-- Where the leases of `handle` begin, how much each of them holds, and how much all of them do.
local places, counts, held = {}, {}, 0
do
  local found_at = find(leases, handle, 1, true)
  while found_at do
    if found_at % LEASE_BYTES == 15 then
      places[#places + 1], counts[#counts + 1] = found_at - 14, unpack('<I7', leases, found_at - 7)
      held = held + counts[#counts]
    end
    found_at = find(leases, handle, found_at + 1, true)
  end
end

--: write_own
do
  local kept, from = {}, 1
  for j, place in ipairs(places) do
    if counts[j] > 0 then
      kept[#kept + 1], from = sub(leases, from, place + 6) .. pack('<I7', counts[j]), place + 14
    else
      kept[#kept + 1], from = sub(leases, from, place - 1), place + LEASE_BYTES
    end
  end
  leases = table.concat(kept) .. sub(leases, from)
end
--+ tidy

--: least_refundable
-- luacheck: globals least
-- What was taken counts until its lease ends. One that is released or settled takes its own reservation along.
if live and not has_ended then least = MAX_COUNT end

--: begin_refundable
-- How much is held under each handle.
local held_by = {}
for place = 1, #leases, LEASE_BYTES do
  local count, lease_handle = unpack('<xxxxxxxI7c16', leases, place)
  held_by[lease_handle] = (held_by[lease_handle] or 0) + count
end

--: refundable
-- luacheck: read globals held_by
-- luacheck: globals refundable
refundable = held_by[holder] or 0

--: refundable_of_one
do
  --+ own_leases
  refundable = held
end

--: overlap
-- luacheck: globals overlap
overlap = 0

--: give_back
do
  --+ own_leases
  local left = cost < held and cost or held
  used = used - left
  for j = #counts, 1, -1 do
    local ended = counts[j] < left and counts[j] or left
    counts[j], left = counts[j] - ended, left - ended
  end
  --+ write_own
end
applied = true

--: charge_at
do
  --+ own_leases
  local lease_end = settled_at + ttl
  applied = held > 0 or now < lease_end
  if held > 0 then
    counts[#counts] = counts[#counts] + cost
    --+ write_own
  elseif applied then
    local inserted = pack('<I7I7c16', lease_end, cost, handle)
    --+ insert
  end
  if applied then
    used, live = used + cost, true
    --+ check_debt
  end
end

--: release
-- luacheck: globals found
found = false
if live then
  --+ own_leases
  found = held > 0
  if found then
    used = used - held
    for j = 1, #counts do counts[j] = 0 end
    --+ write_own
  end
end
applied = found

--: renew
-- luacheck: globals found
-- A lease never ends sooner than before: a clock that was stepped back must not shorten it.
found, applied = false, false
if live then
  --+ own_leases
  found = held > 0
  local lease_end, renewed, others, from = now + ttl, {}, {}, 1
  for _, place in ipairs(places) do
    if unpack('<I7', leases, place) < lease_end then
      renewed[#renewed + 1] = pack('<I7', lease_end) .. sub(leases, place + 7, place + LEASE_BYTES - 1)
      others[#others + 1], from = sub(leases, from, place - 1), place + LEASE_BYTES
    end
  end
  applied = #renewed > 0
  if applied then
    local inserted = table.concat(renewed)
    leases = table.concat(others) .. sub(leases, from)
    --+ insert
  end
end

--: rename
-- Gives the leases of `handle` the handle `new_handle`.
do
  --+ own_leases
  for _, place in ipairs(places) do
    leases = sub(leases, 1, place + 13) .. new_handle .. sub(leases, place + LEASE_BYTES)
  end
  applied = held > 0
end
if applied then
  --+ define_walk
  --+ cap_before_taking
end

--: save
if live then
  limit.new_body, limit.new_expiry = pack('<I4I7', 7 + #leases, used) .. leases, reset_at
else
  limit.new_body, limit.new_expiry = false, 0
end

--: summarize
if live then
  local fits_at, left, place = 0, used, 1
  if cost <= capacity then
    while left + cost > capacity do
      local lease_end, count = unpack('<I7I7', leases, place)
      left, fits_at, place = left - count, lease_end, place + LEASE_BYTES
    end
  end
  summary = pack('<I7I7I7', used, fits_at, reset_at)
end
