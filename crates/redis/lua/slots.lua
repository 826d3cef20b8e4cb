-- Slots: the rule of sliding-log and sliding-counters. A count for each slot of time.
--
-- State: the size of what follows (4 bytes), how time was cut (`width`: the length of a slot; `life`: how
-- long a slot counts), the total, how many bytes a count takes (`count_bytes`), how many blocks of older slots there
-- are (2) and their index (blocks.lua), and the start and the count of every newer slot, the oldest first (`tail`). A
-- slot of the tail is written with `slot_format`, in 7 + count_bytes bytes.
--
-- Sections: see README.md. This rule's own: `count_used` adds up what counts at `now`; `define_slot_of` defines a
-- function; `replace`, `drop_expired`, `add` and `tidy` change the slots. `newest`: when the newest slot began,
-- and `newest_count`: what it counted when it was read.
--
-- Expects, read only:
-- luacheck: read globals args time at unpack pack sub
-- luacheck: read globals ids tail_at passed drop_passed forget_blocks block_of block_for put_block place_after
-- luacheck: read globals refill drop_last apart_count index kept_blocks
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject allowed debt_too_large applied summary
-- Expects, in the sections about reservations:
-- luacheck: read globals taken_at settled_at unspent
-- Placeholders (see README.md):
-- luacheck: read globals ARGUMENT WANTED MAX_COUNT MAX_SLOTS ENTRY_BYTES SUMMARY_FORMAT SUMMARY_BEGINS

--: load
local cost, capacity, width, life = unpack('<I4I4I7I7', args, ARGUMENT)
-- Building the format string takes time, so it is done once, and not where it is known.
local old_width, old_life, total, count_bytes, slot_format, tail = width, life, 0, 1, '<I7I1', ''
local live, reset_at, now, used, newest, newest_count = false, 0, at, 0, 0, 0
local blocks, index_at, past = 0, (limit.body_at or 0) + 28, 0
-- Between which instants this operation gave something back.
local given_from, given_to = 0, math.huge
if limit.body_at then
  local size
  size, old_width, old_life, total, count_bytes, blocks = unpack('<I4I7I7I7BI2', subject.value, limit.body_at)
  if count_bytes > 1 then slot_format = count_bytes == 2 and '<I7I2' or '<I7I' .. count_bytes end
  past = limit.body_at + 4 + size
end
--+ open_blocks
if limit.body_at then
  tail = sub(subject.value, tail_at, past - 1)
  newest, newest_count = unpack(slot_format, tail, #tail - count_bytes - 6)
  reset_at = newest + old_life
  live = at < reset_at
  if live then
    if newest > now then now = newest end
    --+ count_used
  else
    old_width, old_life, total, count_bytes, slot_format, tail, reset_at = width, life, 0, 1, '<I7I1', '', 0
    if blocks > 0 then forget_blocks() end
  end
end

--: count_used
-- What counts at `now`.
used = total
do
  local sum, in_tail = 0, true
  if ids and #ids > 0 then
    local past_blocks
    sum, past_blocks = passed(now - old_life)
    in_tail = past_blocks == #ids
  end
  used = used - sum
  -- The newest slot counts.
  if in_tail and #tail > 7 + count_bytes then
    local place = 1
    local start, count = unpack(slot_format, tail, 1)
    while start + old_life <= now do
      used, place = used - count, place + 7 + count_bytes
      start, count = unpack(slot_format, tail, place)
    end
  end
end

--: thaw_and_freeze
-- A slot in a block has seven bytes for its count.
local function thaw(block)
  local most, out = 0, {}
  for place = 8, #block, ENTRY_BYTES do
    local count = unpack('<I7', block, place)
    if count > most then most = count end
  end
  count_bytes = 1
  while most >= 256 ^ count_bytes do count_bytes = count_bytes + 1 end
  slot_format = '<I7I' .. count_bytes
  for place = 1, #block, ENTRY_BYTES do
    local start, count = unpack('<I7I7', block, place)
    out[#out + 1] = pack(slot_format, start, count)
  end
  return table.concat(out)
end
local function freeze(some)
  local out = {}
  for place = 1, #some, 7 + count_bytes do
    local start, count = unpack(slot_format, some, place)
    out[#out + 1] = pack('<I7I7', start, count)
  end
  return table.concat(out)
end

--: entry_of_tail
-- luacheck: read globals place
-- luacheck: globals key amount
key, amount = unpack(slot_format, tail, place)

--: fits
if used + WANTED > capacity then allowed = false end

--: replace
-- luacheck: read globals from to start count
-- Puts a slot in place of the bytes of the tail from `from` up to `to`. A count that needs more bytes than the
-- others makes all of them longer.
do
  local before = from > #tail and tail or sub(tail, 1, from - 1)
  local after = to > #tail and '' or sub(tail, to)
  if count > 255 and count >= 256 ^ count_bytes then
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
  tail = before .. (count > 0 and pack(slot_format, start, count) or '') .. after
end

--: drop_expired
-- Drops what can never count again: no decision is made before the newest slot began. If all counts at `now`, which is
-- not before that, there is nothing to drop.
if used < total then
  local slot_bytes, place = 7 + count_bytes, 1
  if ids and #ids > 0 then
    local sum, past_blocks, bytes, partly = passed(newest - old_life)
    total = total - sum
    drop_passed(past_blocks, bytes, partly)
  end
  if not ids or #ids == 0 then
    local start, count = unpack(slot_format, tail, 1)
    while start + old_life <= newest do
      total, place = total - count, place + slot_bytes
      start, count = unpack(slot_format, tail, place)
    end
    if place > 1 then tail = sub(tail, place) end
  end
end

--: put_in_block
-- Puts a slot in place of the bytes of a block from `from` up to `to`.
local function put_in_block(i, from, to, start, count, by)
  local block = block_of(i)
  put_block(i, sub(block, 1, from - 1) .. (count > 0 and pack('<I7I7', start, count) or '') .. sub(block, to), by)
end

--: add
-- luacheck: read globals start
-- Adds the cost to the slot that begins at `start`, wherever that is among the others.
if ids and #ids > 0 and start < unpack('<I7', tail) then
  --+ put_in_block
  local i = block_for(start)
  local from = place_after(block_of(i), start) + 1
  local to, sum = from, cost
  if from > 1 then
    local begins, count = unpack('<I7I7', block_of(i), from - ENTRY_BYTES)
    if begins == start then from, sum = from - ENTRY_BYTES, count + cost end
  end
  put_in_block(i, from, to, start, sum, cost)
else
  local slot_bytes, from = 7 + count_bytes, #tail + 1
  local to, count = from, cost
  if start > newest then
    newest = start
  elseif start == newest then
    from, count = from - slot_bytes, newest_count + cost
  else
    while from > 1 do
      local begins, before = unpack(slot_format, tail, from - slot_bytes)
      if begins <= start then
        if begins == start then from, count = from - slot_bytes, before + cost end
        break
      end
      from, to = from - slot_bytes, from - slot_bytes
    end
  end
  --+ replace
end
total = total + cost

--: take
do
  local start = now - now % width
  if live and old_width == width and old_life == life then
    --+ add
    used = used + cost
    --+ drop_expired
  else
    if blocks > 0 then forget_blocks() end
    used = used + cost
    old_width, old_life, total, count_bytes, slot_format, tail = width, life, used, 1, '<I7I1', ''
    local from, to, count = 1, 1, total
    --+ replace
    newest = start
  end
  live = true
end

--: check_debt
debt_too_large = used > MAX_COUNT or #tail / (7 + count_bytes) + (ids and apart_count() or 0) > MAX_SLOTS

--: tidy
live = used > 0
if live then
  newest = unpack('<I7', tail, #tail - count_bytes - 6)
  --+ drop_expired
end

--: give
do
  local left = cost < used and cost or used
  used, total = used - left, total - left
  while left > 0 and tail ~= '' do
    local past, rest = #tail + 1, ''
    while left > 0 and past > 1 do
      past = past - 7 - count_bytes
      local start, count = unpack(slot_format, tail, past)
      given_from = start
      if count > left then rest = pack(slot_format, start, count - left) end
      left = left - count
    end
    tail = sub(tail, 1, past - 1) .. rest
    if tail == '' then
      left = drop_last(left)
      -- What was dropped with blocks began after the newest that is left.
      given_from = tail ~= '' and unpack('<I7', tail, #tail - count_bytes - 6) + 1 or 0
    end
  end
  --+ tidy
end

--: save
if live then
  --+ settle_blocks
  local head = pack('<I4I7I7I7BI2', 24 + #index + #tail, old_width, old_life, total, count_bytes, kept_blocks) .. index
  --+ save_body
  limit.new_expiry = newest + old_life
else
  if blocks > 0 then forget_blocks() end
  limit.new_body, limit.new_expiry = false, 0
end

--: begin_runs
-- In a call of several checks, all that they take goes into the slot of `now`. It is collected in `pending`
-- and added once, since the string may be long.
local pending = 0

--: take_times
-- luacheck: read globals times
-- luacheck: globals pending
pending, used = pending + times * cost, used + times * cost

--: define_summarize
-- The same as `summarize`, with what is pending, and without the tag.
limit.summarize = function()
  local fits_at, resets = 0, reset_at
  if pending > 0 then resets = now - now % width + life end
  if used + cost > capacity and cost <= capacity then
    local converted = pending > 0 and (old_width ~= width or old_life ~= life)
    local wanted, found = total + pending + cost - capacity, nil
    if not converted then
      --+ find_key
    end
    fits_at = found and found + old_life or resets
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
  -- If all counts at `now`, it does at any earlier instant.
  local instant, now, used, fits_at = now, time, used, 0
  if newest > now then now = newest end
  if now < newest + old_life then
    if used < total or now > instant then
      --+ count_used
    end
    if used + cost > capacity and cost <= capacity then
      local wanted, found = total + cost - capacity, nil
      --+ find_key
      fits_at = found + old_life
    end
    summary = pack(SUMMARY_FORMAT, SUMMARY_BEGINS, used, fits_at, newest + old_life)
  end
end
