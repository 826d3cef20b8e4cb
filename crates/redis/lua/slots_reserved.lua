-- What the rule slots does for open reservations, and for one that is settled (slots.lua says how slots are written).
--
-- Sections: see README.md. This rule's own: `define_slot_of` defines the function that finds the slot of an instant.
--
-- Expects, read only:
-- luacheck: read globals unpack pack ids block_of block_for place_after refill put_in_block
-- luacheck: read globals converted
-- luacheck: read globals taken_at settled_at unspent now width life old_width old_life count_bytes slot_format
-- Expects and assigns (`limit`: see README.md):
-- luacheck: globals limit applied debt_too_large tail used total live cost given_from given_to
-- Placeholders (see README.md):
-- luacheck: read globals MAX_COUNT ENTRY_BYTES

--: define_slot_of
-- The place, start and count of the slot that an instant falls into, and its block, if it is in one.
local function slot_of(instant)
  if ids and #ids > 0 and instant < unpack('<I7', tail) then
    local i = block_for(instant)
    local past = place_after(block_of(i), instant)
    if past > 0 then
      local start, count = unpack('<I7I7', block_of(i), past - ENTRY_BYTES + 1)
      if instant < start + old_width then return past - ENTRY_BYTES + 1, start, count, i end
    end
    return nil
  end
  local slot_bytes, first, past = 7 + count_bytes, 0, 0
  past = #tail / slot_bytes
  while past - first > 0 do
    local middle = math.floor((first + past) / 2)
    local place = middle * slot_bytes + 1
    local start, count = unpack(slot_format, tail, place)
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
-- luacheck: globals least converts
-- What is counted in a slot is only lost with the slot, unless slots get another length. A slot that has ended may
-- count again if the clock steps back.
if live and old_width == width and old_life == life then
  if used == total then
    least = MAX_COUNT
  elseif converted == 0 then
    given_from, given_to = math.huge, 0
  end
elseif live then
  converts = 1
end

--: begin_refundable
--+ define_slot_of
-- Between which instants so much is refundable: many were taken in the same slot.
local known_from, known_to, known_refundable = 1, 0, 0

--: refundable
-- luacheck: globals refundable known_from known_to known_refundable
do
  if taken_at < known_from or taken_at >= known_to then
    local _, start, count = slot_of(taken_at)
    known_from, known_to = start or taken_at, start and start + old_width or taken_at
    known_refundable = live and start and now < start + old_life and count or 0
  end
  refundable = known_refundable
end

--: refundable_if_less
-- Of what is in another slot than one that was given back, nothing is lost but by the slot's end.
if not live or taken_at >= given_from and taken_at < given_to or taken_at < now - old_life + old_width then
  --+ refundable
end

--: refundable_of_group
-- luacheck: read globals oldest newest
-- luacheck: globals least same
if not live or newest <= now - old_life or oldest >= newest + old_width then
  -- The slots of all have ended, or they were taken after all that is counted.
  least, same = 0, true
elseif (newest < given_from or oldest >= given_to) and oldest >= now - old_life + old_width then
  least = math.huge
else
  local _, start = slot_of(oldest)
  if start and newest < start + old_width then
    local taken_at, refundable = oldest, 0
    --+ refundable
    least, same = refundable, true
  end
end

--: overlap
-- luacheck: globals overlap
overlap = taken_at - taken_at % width == settled_at - settled_at % width
  and unspent or 0

--: overlap_of_group
-- luacheck: read globals oldest newest
do
  local start = settled_at - settled_at % width
  if newest < start or oldest >= start + width then
    overlap = 0
  elseif oldest >= start and newest < start + width then
    overlap = unspent
  end
end

--: give_back
do
  --+ put_in_block
  --+ define_slot_of
  local from, start, count, i = slot_of(settled_at)
  if from then
    local given = count < cost and count or cost
    count = count - given
    if i then
      put_in_block(i, from, from + ENTRY_BYTES, start, count, -given)
    else
      local to = from + 7 + count_bytes
      --+ replace
      refill()
    end
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
    --+ add
    used = used + cost
    --+ drop_expired
    -- Nothing was given back.
    given_from, given_to = math.huge, 0
    --+ check_debt
  elseif applied then
    local now = live and now or settled_at
    --+ take
    --+ check_debt
  end
end
