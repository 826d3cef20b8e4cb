-- Held: the rule of concurrency. Leases that end when they are released or expire.
--
-- State: the size of what follows (4 bytes), how much all leases hold (7), how many blocks of leases there are (2) and
-- their index (blocks.lua), and the leases that end last (`tail`), in the order of their ends, of equal ends the newest
-- last. A lease has LEASE_BYTES: when it ends (7), how much it holds (7) and its handle (16). They stay bytes: making a
-- table of each of 9,000 took 14 ms.
--
-- Sections: see README.md. This rule's own: `drop_ended`, `tidy` and `insert` change the leases. Those of one handle:
-- leases.lua; how they are found: marks.lua.
--
-- Expects, read only:
-- luacheck: read globals args at time handle unpack pack sub held
-- luacheck: read globals ids tail_at passed drop_passed forget_blocks block_of block_for grow_block
-- luacheck: read globals place_after refill drop_last apart_count index kept_blocks
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject allowed debt_too_large applied summary own needs_blocks
-- Expects, in the sections about reservations:
-- luacheck: read globals settled_at open find_row lefts_in put_lefts
-- Placeholders:
-- luacheck: read globals ARGUMENT MAX_COUNT MAX_ENTRIES LEASE_BYTES SUMMARY_FORMAT SUMMARY_BEGINS WITH_HANDLE NO_HANDLE

--: load
-- `tail` and the blocks have the leases that have not ended, `used` is how much they hold, `reset_at` when the last of
-- them ends.
local cost, capacity, ttl = unpack('<I4I4I7', args, ARGUMENT)
local live, reset_at, now, used, tail = false, 0, at, 0, ''
local blocks, index_at, past = 0, (limit.body_at or 0) + 13, 0
if limit.body_at then
  local size
  size, used, blocks = unpack('<I4I7I2', subject.value, limit.body_at)
  past = limit.body_at + 4 + size
  reset_at = unpack('<I7', subject.value, past - LEASE_BYTES)
end
--+ open_blocks
if limit.body_at then
  live = now < reset_at
  if live then
    --+ drop_ended
  else
    used, reset_at = 0, 0
    if blocks > 0 then forget_blocks() end
  end
end

--: drop_ended
tail = sub(subject.value, tail_at, past - 1)
if blocks > 0 then
  local sum, past_blocks, bytes, partly = passed(now)
  used = used - sum
  drop_passed(past_blocks, bytes, partly)
end
-- The lease that ends last has not ended.
if #tail > LEASE_BYTES and (blocks == 0 or #ids == 0) then
  local place, lease_end, count = 1, unpack('<I7I7', tail)
  while lease_end <= now do
    used, place = used - count, place + LEASE_BYTES
    lease_end, count = unpack('<I7I7', tail, place)
  end
  if place > 1 then tail = sub(tail, place) end
end

--: may_need_blocks
-- A lease that is inserted among others.
if at + ttl < reset_at then needs_blocks = true end

--: thaw_and_freeze
-- A lease in a block is as in the tail.
local function thaw(block) return block end
local freeze = thaw

--: entry_of_tail
-- luacheck: read globals place
-- luacheck: globals key amount
key, amount = unpack('<I7I7', tail, place)

--: fits
if used + cost > capacity then allowed = false end

--: still_held
-- luacheck: globals lapsed
-- Whether what an operation took under its id is still held, before its kept reply is returned.
do
  local at, still_held = time, 0
  --+ load
  if live then
    --+ own_leases
    still_held = held
  end
  if still_held < cost then lapsed = true end
  limit.apart = nil
end

--: hold_if_allowed
-- A denied attempt that counts holds nothing: there is no lease that could be renewed or released.
local handle = allowed and handle or NO_HANDLE

--: insert
-- luacheck: read globals lease_end inserted amount
-- Inserts leases that end at `lease_end` and hold `amount`, as bytes, after all that do not end later.
if tail == '' or lease_end >= reset_at then
  tail, reset_at = tail .. inserted, lease_end
elseif ids and #ids > 0 and lease_end < unpack('<I7', tail) then
  local i = block_for(lease_end)
  local block = block_of(i)
  local bytes = place_after(block, lease_end)
  grow_block(i, sub(block, 1, bytes) .. inserted .. sub(block, bytes + 1), amount)
else
  local bytes = place_after(tail, lease_end)
  tail = sub(tail, 1, bytes) .. inserted .. sub(tail, bytes + 1)
end

--: take
do
  local lease_end, amount = now + ttl, cost
  local inserted = pack('<I7I7c16', lease_end, cost, handle)
  --+ insert
  used, live = used + cost, true
end

--: check_debt
debt_too_large = used > MAX_COUNT or #tail / LEASE_BYTES + (ids and apart_count() or 0) > MAX_ENTRIES

--: tidy
refill()
live = tail ~= ''
reset_at = live and unpack('<I7', tail, #tail - LEASE_BYTES + 1) or 0

--: give
-- Ends leases of up to `cost`, the last to end first.
do
  local left = cost < used and cost or used
  used = used - left
  while left > 0 and tail ~= '' do
    local past, rest = #tail + 1, ''
    while left > 0 and past > 1 do
      past = past - LEASE_BYTES
      local lease_end, count, holder = unpack('<I7I7c16', tail, past)
      if count > left then rest = pack('<I7I7c16', lease_end, count - left, holder) end
      left = left - count
    end
    tail = sub(tail, 1, past - 1) .. rest
    if tail == '' then left = drop_last(left) end
  end
  --+ tidy
end

--: cap_before_taking
-- What was taken counts until its lease ends, is released or refunded, and then never again, unless more is taken under
-- the same handle. So that is when the reservation of this handle is capped, and never all of them.
if WITH_HANDLE and open > 0 then
  local i, j = find_row(handle)
  if i then
    --+ own_leases
    local lefts = lefts_in(i)
    if held < lefts[j] then
      lefts[j] = held
      put_lefts(i, lefts)
    end
  end
end

--: cap_refundable
-- Nothing to do: see above.

--: cap_after_settling
-- Nothing to do: each handle has its own leases.

--: define_walk
-- There is no walk.

--: refundable_of_one
-- luacheck: globals refundable
do
  --+ own_leases
  refundable = held
end

--: give_back
do
  --+ own_leases
  local left = cost < held and cost or held
  used = used - left
  for j = #own, 1, -1 do
    local lease = own[j]
    local ended = lease.count < left and lease.count or left
    lease.count, left = lease.count - ended, left - ended
  end
  --+ write_own
end
applied = true

--: charge_at
do
  --+ own_leases
  local lease_end, amount = settled_at + ttl, cost
  applied = held > 0 or now < lease_end
  if held > 0 then
    own[#own].count = own[#own].count + cost
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

--: save
if live then
  --+ settle_blocks
  local head = pack('<I4I7I2', 9 + #index + #tail, used, kept_blocks) .. index
  --+ save_body
  limit.new_expiry = reset_at
else
  if blocks > 0 then forget_blocks() end
  limit.new_body, limit.new_expiry = false, 0
end

--: summarize
if live then
  local fits_at = 0
  if used + cost > capacity and cost <= capacity then
    local wanted, found = used + cost - capacity, nil
    --+ find_key
    fits_at = found
  end
  summary = pack(SUMMARY_FORMAT, SUMMARY_BEGINS, used, fits_at, reset_at)
end
