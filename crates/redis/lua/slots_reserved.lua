-- What the rule slots does for open reservations, and for one that is settled (slots.lua says how slots are written).
--
-- Sections: see README.md. This rule's own: `define_slot_of` defines the function that finds the slot of an instant.
--
-- Expects, read only:
-- luacheck: read globals unpack pack floor ids block_of block_for place_after refill replace put_in_block
-- luacheck: read globals taken_at settled_at unspent now width life old_width old_life count_bytes slot_format
-- Expects and assigns (`limit`: see README.md):
-- luacheck: globals limit applied debt_too_large tail used total live cost given_from given_to
-- Placeholders (see README.md):
-- luacheck: read globals MAX_COUNT ENTRY_BYTES

--: define_slot_of
-- The place, start and count of the slot that an instant falls into, and its block, if it is in one.
local function slot_of(instant)
  if #ids > 0 and instant < unpack('<I7', tail) then
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
    local middle = floor((first + past) / 2)
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

--: refundable_of_part
-- luacheck: read globals oldest newest
-- luacheck: globals least same
if not live then
  same = true
elseif (newest < given_from or oldest >= given_to) and oldest >= now - old_life + old_width then
  least = math.huge
end

--: overlap
-- luacheck: globals overlap
overlap = taken_at - taken_at % width == settled_at - settled_at % width
  and unspent or 0

--: overlap_of_part
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
  --+ replace
  --+ put_in_block
  --+ define_slot_of
  local place, start, count, i = slot_of(settled_at)
  if place then
    local given = count < cost and count or cost
    if i then
      put_in_block(i, place, place + ENTRY_BYTES, start, count - given, -given)
    else
      replace(place, place + 7 + count_bytes, start, count - given)
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
    --+ replace
    --+ add
    --+ drop_expired
    used = used + cost
    -- Nothing was given back.
    given_from, given_to = math.huge, 0
    --+ check_debt
  elseif applied then
    local now = live and now or settled_at
    --+ take
    --+ check_debt
  end
end
