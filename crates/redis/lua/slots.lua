-- Slots: the rule of sliding-log and sliding-counters. A count for each slot of time.
--
-- State: the size of what follows (4 bytes), how time was cut (`width`: the length of a slot; `life`: how
-- long a slot counts), the total, how many bytes a count takes (`count_bytes`), and the start and the
-- count of every slot, the oldest first (`slots`). A slot is written with `slot_format`, in 7 +
-- count_bytes bytes.
--
-- Sections: see README.md. This rule's own: `count_used` adds up what counts at `now`; `replace` and
-- `define_slot_of` define functions; `drop_expired`, `add` and `tidy` change `slots`.
--
-- Expects, read only:
-- luacheck: read globals args time at unpack pack sub floor
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject allowed debt_too_large applied summary
-- Expects, in the sections about reservations:
-- luacheck: read globals taken_at settled_at unspent
-- Placeholders (see README.md):
-- luacheck: read globals ARGUMENT WANTED MAX_COUNT MAX_SLOTS

--: load
local cost, capacity, width, life = unpack('<I4I4I7I7', args, ARGUMENT)
-- Building the format string takes time, so it is done once.
local old_width, old_life, total, count_bytes, slot_format, slots = width, life, 0, 1, '<I7I1', ''
local live, reset_at, now, used = false, 0, at, 0
-- Between which instants this operation gave something back.
local given_from, given_to = 0, math.huge
if limit.body_at then
  local size
  size, old_width, old_life, total, count_bytes = unpack('<I4I7I7I7B', subject.value, limit.body_at)
  if count_bytes > 1 then slot_format = '<I7I' .. count_bytes end
  slots = sub(subject.value, limit.body_at + 26, limit.body_at + 3 + size)
  local newest = unpack('<I7', slots, #slots - count_bytes - 6)
  reset_at = newest + old_life
  live = at < reset_at
  if live then
    if newest > now then now = newest end
    --+ count_used
  else
    old_width, old_life, total, count_bytes, slot_format, slots, reset_at = width, life, 0, 1, '<I7I1', '', 0
  end
end

--: count_used
-- What counts at `now`.
used = total
do
  local place = 1
  local start, count = unpack(slot_format, slots, 1)
  while start + old_life <= now do
    used, place = used - count, place + 7 + count_bytes
    start, count = unpack(slot_format, slots, place)
  end
end

--: fits
if used + WANTED > capacity then allowed = false end

--: replace
-- Puts a slot in place of the bytes from `from` up to `to`. A count that needs more bytes than the
-- others makes all of them longer.
local function replace(from, to, start, count)
  local before, after = sub(slots, 1, from - 1), sub(slots, to)
  if count >= 256 ^ count_bytes then
    local wider, old_format = count_bytes, slot_format
    while count >= 256 ^ wider do wider = wider + 1 end
    slot_format = '<I7I' .. wider
    local widen = function(some)
      local out = {}
      for place = 1, #some, 7 + count_bytes do
        out[#out + 1] = pack(slot_format, unpack(old_format, some, place))
      end
      return table.concat(out)
    end
    before, after = widen(before), widen(after)
    count_bytes = wider
  end
  slots = before .. (count > 0 and pack(slot_format, start, count) or '') .. after
end

--: drop_expired
-- Drops what can never count again: no decision is made before the newest slot began.
do
  local slot_bytes = 7 + count_bytes
  local newest, place = unpack('<I7', slots, #slots - count_bytes - 6), 1
  local start, count = unpack(slot_format, slots, 1)
  while start + old_life <= newest do
    total, place = total - count, place + slot_bytes
    start, count = unpack(slot_format, slots, place)
  end
  if place > 1 then slots = sub(slots, place) end
end

--: add
-- luacheck: read globals start
-- Adds the cost to the slot that begins at `start`, wherever that is among the others.
do
  local slot_bytes, place = 7 + count_bytes, #slots + 1
  local to, sum = place, cost
  while place > 1 do
    local begins, count = unpack(slot_format, slots, place - slot_bytes)
    if begins <= start then
      if begins == start then place, sum = place - slot_bytes, count + cost end
      break
    end
    place, to = place - slot_bytes, place - slot_bytes
  end
  replace(place, to, start, sum)
  total = total + cost
end

--: take
do
  --+ replace
  local start = now - now % width
  if live and old_width == width and old_life == life then
    --+ add
    --+ drop_expired
  else
    old_width, old_life, total, count_bytes, slot_format, slots = width, life, used + cost, 1, '<I7I1', ''
    replace(1, 1, start, total)
  end
  used, live = used + cost, true
end

--: check_debt
debt_too_large = used > MAX_COUNT or #slots > MAX_SLOTS * (7 + count_bytes)

--: tidy
live = used > 0
if live then
  --+ drop_expired
end

--: give
do
  local left, past, rest = cost < used and cost or used, #slots + 1, ''
  used, total = used - left, total - left
  while left > 0 do
    past = past - 7 - count_bytes
    local start, count = unpack(slot_format, slots, past)
    given_from = start
    if count > left then rest = pack(slot_format, start, count - left) end
    left = left - count
  end
  slots = sub(slots, 1, past - 1) .. rest
  --+ tidy
end

--: define_slot_of
-- The place, start and count of the slot that an instant falls into.
local function slot_of(instant)
  local slot_bytes, first, past = 7 + count_bytes, 0, 0
  past = #slots / slot_bytes
  while past - first > 0 do
    local middle = floor((first + past) / 2)
    local place = middle * slot_bytes + 1
    local start, count = unpack(slot_format, slots, place)
    if start > instant then
      past = middle
    elseif instant < start + old_width then
      return place, start, count
    else
      first = middle + 1
    end
  end
end

--: still_counted
-- luacheck: globals least
-- What is counted in a slot is only lost with the slot, unless slots get another length.
if live and old_width == width and old_life == life then least = MAX_COUNT end

--: begin_refundable
--+ define_slot_of

--: refundable
-- luacheck: globals refundable
do
  local _, start, count = slot_of(taken_at)
  refundable = live and start and now < start + old_life and count or 0
end

--: refundable_if_less
-- Of what is in another slot than one that was given back, nothing is lost but by the slot's end.
if not live or taken_at >= given_from and taken_at < given_to or taken_at < now - old_life + old_width then
  --+ refundable
end

--: overlap
-- luacheck: globals overlap
overlap = taken_at - taken_at % width == settled_at - settled_at % width
  and unspent or 0

--: give_back
do
  --+ replace
  --+ define_slot_of
  local place, start, count = slot_of(settled_at)
  if place then
    local given = count < cost and count or cost
    replace(place, place + 7 + count_bytes, start, count - given)
    total, used, given_from, given_to = total - given, used - given, start, start + old_width
  end
  --+ tidy
  applied = true
end

--: charge_at
do
  local start = settled_at - settled_at % width
  applied = start + life > now
  if applied and live and old_width == width and old_life == life then
    --+ replace
    --+ add
    --+ drop_expired
    used = used + cost
    --+ check_debt
  elseif applied then
    local now = live and now or settled_at
    --+ take
    --+ check_debt
  end
end

--: save
if live then
  limit.new_body = pack('<I4I7I7I7B', 22 + #slots, old_width, old_life, total, count_bytes) .. slots
  limit.new_expiry = unpack('<I7', slots, #slots - count_bytes - 6) + old_life
else
  limit.new_body, limit.new_expiry = false, 0
end

--: begin_runs
-- In a call of several checks, all that they take goes into the slot of `now`. It is collected in `pending`
-- and added once, since the string may be long. For the same reason the slots are read at most once, when
-- a check is denied, and as far as needed: up to each of them, `sums` has what all slots until then count,
-- and `ends` until when they do.
local pending, sums, ends, unread_at = 0, {}, {}, 1
-- Returns when so much of what is used will be forgotten.
local function forgotten_at(amount)
  while (sums[#sums] or 0) < amount and unread_at <= #slots do
    local start, count = unpack(slot_format, slots, unread_at)
    sums[#sums + 1], ends[#ends + 1], unread_at =
      (sums[#sums] or 0) + count, start + old_life, unread_at + 7 + count_bytes
  end
  if (sums[#sums] or 0) < amount then return now - now % width + life end
  local first, last = 1, #sums
  while first < last do
    local middle = (first + last - (first + last) % 2) / 2
    if sums[middle] < amount then first = middle + 1 else last = middle end
  end
  return ends[first]
end

--: take_times
-- luacheck: read globals times
-- luacheck: globals pending
pending, used = pending + times * cost, used + times * cost

--: define_summarize
-- luacheck: read globals forgotten_at
-- The same as `summarize`, with what is pending.
limit.summarize = function()
  local fits_at, resets = 0, reset_at
  if pending > 0 then resets = now - now % width + life end
  if used + cost > capacity and cost <= capacity then
    local converted = pending > 0 and (old_width ~= width or old_life ~= life)
    fits_at = converted and resets or forgotten_at(total + pending + cost - capacity)
  end
  limit.new_summary = pack('<I7I7I7', used, fits_at, resets)
end

--: save_run
-- The reply has the summary, not the body.

--: finish_runs
cost, used = pending, used - pending
--+ take
--+ save

--: summarize
if live then
  local newest, now, used, fits_at = unpack('<I7', slots, #slots - count_bytes - 6), time, 0, 0
  if newest > now then now = newest end
  if now < newest + old_life then
    --+ count_used
    if used + cost > capacity and cost <= capacity then
      local left, place = total, 1
      while left + cost > capacity do
        local start, count = unpack(slot_format, slots, place)
        left, fits_at, place = left - count, start + old_life, place + 7 + count_bytes
      end
    end
    summary = pack('<I7I7I7', used, fits_at, newest + old_life)
  end
end
