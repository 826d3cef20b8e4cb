-- Held: the rule of concurrency. Leases that end when they are released or expire.
--
-- State: the size of what follows (4 bytes), how many are held in all, when the first and the last lease
-- end, whether they end in the order in which they were taken (`sorted`), and each lease: its end, its
-- count and its handle. While no lease has ended, they need not be read one by one: `leases` is nil until
-- `parse` reads them, and until then a new lease is appended to `added` as bytes.
--
-- Sections: see README.md. This rule's own: `parse` reads the leases; `drop_ended` and `end_newest`
-- remove some; `release`, `renew` and `rename` are what only this rule does for an operation.
--
-- Expects, read only:
-- luacheck: read globals args time at handle new_handle unpack pack sub find
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject allowed debt_too_large applied summary
-- Expects, in the sections about reservations:
-- luacheck: read globals holder settled_at
-- Placeholders (the second line: the fields of a lease):
-- luacheck: read globals ARGUMENT MAX_COUNT MAX_ENTRIES
-- luacheck: read globals LEASE_END LEASE_COUNT LEASE_HANDLE

--: load
local cost, capacity, ttl = unpack('<I4I4I7', args, ARGUMENT)
local size, total, first_end, sorted, added, leases = 22, 0, 0, 1, '', nil
local live, reset_at, now, used = false, 0, at, 0
if limit.body_at then
  size, total, first_end, reset_at, sorted = unpack('<I4I7I7I7B', subject.value, limit.body_at)
  live = at < reset_at
  if not live then
    size, total, first_end, reset_at, sorted = 22, 0, 0, 0, 1
  else
    used = total
    if first_end <= now then
      --+ parse
      used = 0
      for _, lease in ipairs(leases) do
        if now < lease[LEASE_END] then used = used + lease[LEASE_COUNT] end
      end
    end
  end
end

--: parse
if not leases then
  leases = {}
  local all, place =
    (size > 22 and sub(subject.value, limit.body_at + 26, limit.body_at + 3 + size) or '') .. added, 1
  while place <= #all do
    local lease = {}
    lease[LEASE_END], lease[LEASE_COUNT], lease[LEASE_HANDLE], place = unpack('<I7I7I2c0', all, place)
    leases[#leases + 1] = lease
  end
end

--: fits
if used + cost > capacity then allowed = false end

--: drop_ended
-- Drops the leases that have ended or hold nothing.
do
  local kept = {}
  for _, lease in ipairs(leases) do
    if now < lease[LEASE_END] and lease[LEASE_COUNT] > 0 then kept[#kept + 1] = lease end
  end
  leases, live = kept, #kept > 0
end

--: take
do
  local lease_end = now + ttl
  if leases then
    --+ drop_ended
    leases[#leases + 1] = { lease_end, cost, handle }
  else
    added = added .. pack('<I7I7I2c0', lease_end, cost, #handle, handle)
    if total == 0 or lease_end < first_end then first_end = lease_end end
    if lease_end < reset_at then sorted = 0 else reset_at = lease_end end
    total = total + cost
  end
  used, live = used + cost, true
end

--: check_debt
debt_too_large = used > MAX_COUNT
-- Each lease holds something, so that there are never more of them than is held.
if used > MAX_ENTRIES then
  --+ parse
  debt_too_large = debt_too_large or #leases > MAX_ENTRIES
end

--: end_newest
-- luacheck: read globals only
-- Ends leases of up to `cost`, the newest first; if `only` is set, those with that handle.
--+ parse
--+ drop_ended
do
  local left = cost
  for j = #leases, 1, -1 do
    local lease = leases[j]
    if not only or lease[LEASE_HANDLE] == only then
      local ended = lease[LEASE_COUNT] < left and lease[LEASE_COUNT] or left
      lease[LEASE_COUNT], left, used = lease[LEASE_COUNT] - ended, left - ended, used - ended
    end
  end
end
--+ drop_ended

--: give
do
  local only
  --+ end_newest
end

--: still_counted
-- luacheck: globals least
-- While no lease has ended, all that was taken counts, but for what was given back.
if live and not leases then least = MAX_COUNT end

--: begin_refundable
-- How much is held under each handle.
local held_by = {}
--+ parse
for _, lease in ipairs(leases) do
  if now < lease[LEASE_END] then
    held_by[lease[LEASE_HANDLE]] = (held_by[lease[LEASE_HANDLE]] or 0) + lease[LEASE_COUNT]
  end
end

--: refundable
-- luacheck: read globals held_by
-- luacheck: globals refundable
refundable = held_by[holder] or 0

--: just_taken
-- Of what was just taken all counts. Only if there were leases of the same handle before, they have to be read.
local held_before = limit.body_at and sub(subject.value, limit.body_at + 26, limit.body_at + 3 + size) or ''
if leases or find(held_before, holder, 1, true) then
  --+ begin_refundable
  --+ refundable
else
  refundable = cost
end

--: overlap
-- luacheck: globals overlap
overlap = 0

--: give_back
do
  local only = handle
  --+ end_newest
end
applied = true

--: charge_at
applied = false
--+ parse
for j = #leases, 1, -1 do
  local lease = leases[j]
  if now < lease[LEASE_END] and lease[LEASE_HANDLE] == handle then
    lease[LEASE_COUNT], applied = lease[LEASE_COUNT] + cost, true
    break
  end
end
if applied then
  --+ drop_ended
elseif now < settled_at + ttl then
  --+ drop_ended
  leases[#leases + 1], applied, live = { settled_at + ttl, cost, handle }, true, true
end
used = used + cost
debt_too_large = applied and (used > MAX_COUNT or #leases > MAX_ENTRIES)

--: release
-- luacheck: globals found
found = false
if live then
  --+ parse
  for _, lease in ipairs(leases) do
    if now < lease[LEASE_END] and lease[LEASE_HANDLE] == handle then
      used, lease[LEASE_COUNT], found = used - lease[LEASE_COUNT], 0, true
    end
  end
end
applied = found
if applied then
  --+ drop_ended
end

--: renew
-- luacheck: globals found
-- A lease never ends sooner than before: a clock that was stepped back must not shorten it.
found, applied = false, false
if live then
  --+ parse
  for _, lease in ipairs(leases) do
    if now < lease[LEASE_END] and lease[LEASE_HANDLE] == handle then
      found = true
      if lease[LEASE_END] < now + ttl then lease[LEASE_END], applied = now + ttl, true end
    end
  end
end
if applied then
  --+ drop_ended
end

--: rename
-- Gives the leases of `handle` the handle `new_handle`.
applied = false
--+ parse
for _, lease in ipairs(leases) do
  if lease[LEASE_HANDLE] == handle then lease[LEASE_HANDLE], applied = new_handle, true end
end

--: save
if not live then
  limit.new_body, limit.new_expiry = false, 0
else
  local all = added
  if leases then
    local out = {}
    total, first_end, reset_at, sorted = 0, leases[1][LEASE_END], 0, 1
    for j, lease in ipairs(leases) do
      out[j] = pack('<I7I7I2c0', lease[LEASE_END], lease[LEASE_COUNT], #lease[LEASE_HANDLE], lease[LEASE_HANDLE])
      total = total + lease[LEASE_COUNT]
      if lease[LEASE_END] < first_end then first_end = lease[LEASE_END] end
      if lease[LEASE_END] < reset_at then sorted = 0 else reset_at = lease[LEASE_END] end
    end
    all = table.concat(out)
  elseif size > 22 then
    all = sub(subject.value, limit.body_at + 26, limit.body_at + 3 + size) .. added
  end
  limit.new_body, limit.new_expiry =
    pack('<I4I7I7I7B', 22 + #all, total, first_end, reset_at, sorted) .. all, reset_at
end

--: summarize
if live then
  local held, last_end, fits_at = total, reset_at, 0
  if leases then
    held, last_end = 0, 0
    for _, lease in ipairs(leases) do
      if time < lease[LEASE_END] then held = held + lease[LEASE_COUNT] end
      if lease[LEASE_END] > last_end then last_end = lease[LEASE_END] end
    end
  end
  if held + cost > capacity and cost <= capacity then
    local left, place, past = held, (limit.body_at or 0) + 26, (limit.body_at or 0) + 4 + size
    -- If they are sorted, those that end first come first, and reading a few of them is enough.
    while not leases and sorted == 1 and left + cost > capacity and place < past do
      local lease_end, count, _
      lease_end, count, _, place = unpack('<I7I7I2c0', subject.value, place)
      left, fits_at = left - count, lease_end
    end
    if left + cost > capacity then
      --+ parse
      local by_end, j = {}, 0
      for _, lease in ipairs(leases) do
        if time < lease[LEASE_END] then by_end[#by_end + 1] = lease end
      end
      table.sort(by_end, function(one, other) return one[LEASE_END] < other[LEASE_END] end)
      left = held
      while left + cost > capacity do
        j = j + 1
        left, fits_at = left - by_end[j][LEASE_COUNT], by_end[j][LEASE_END]
      end
    end
  end
  if time < last_end then summary = pack('<I7I7I7', held, fits_at, last_end) end
end
