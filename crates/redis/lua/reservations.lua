-- Open reservations of one limit, which a later `settle` corrects.
--
-- A limit that has any keeps them behind its body: the size of what follows (4 bytes); the most that may be given
-- back of any of them, when the first and when the last of them expires (7 bytes each); and the reservations. The
-- first two of these numbers are bounds: nothing has to be done for the reservations where they say so.
--
-- A reservation has RESERVATION_BYTES: when the cost was taken (7), how much (4), the least of it that was still
-- counted at any time since (7), when it expires (7), and its handle (16). They stay bytes, since making a table of
-- each takes ten times as long as reading it.
--
-- Sections:
--   open_reservations       reads the numbers, and the reservations as bytes into `open`
--   define_walk             defines what `drop_expired_reservations`, `cap_before_taking` and `cap_refundable` call
--   lower, join_kept        cap one reservation in such a walk; put the pieces together
--   find_reservation, cut_reservation   the place of one in `open`; takes one out
--   drop_expired_reservations, drop_own_reservation, rename_reservation, cap_before_taking, cap_refundable,
--   cap_after_settling, add_reservation
--                           change `open`
--   save_reservations       writes them to limit.new_reservations, if anything changed
--
-- Expects, read only:
-- luacheck: read globals time now cost handle new_handle reset_at unpack pack sub find
-- luacheck: read globals settled_at settled_amount actual least_since
-- Expects and assigns (`limit` and `subject`: see README.md; `removed` says whether the list changed):
-- luacheck: globals limit subject removed walk found_at least
-- luacheck: read globals packed
-- luacheck: globals open most first_expiry last_expiry touched stale
-- Placeholders (see README.md):
-- luacheck: read globals RESERVATION_TTL RESERVATION_EXTENSION MAX_RESERVATIONS RESERVATION_BYTES

--: open_reservations
-- `touched`: they must be written. `stale`: the one that expires last may be gone.
local open, most, first_expiry, last_expiry, touched, stale = '', 0, 0, 0, false, false
if limit.reservations_at then
  local size
  size, most, first_expiry, last_expiry = unpack('<I4I7I7I7', subject.value, limit.reservations_at)
  open = sub(subject.value, limit.reservations_at + 25, limit.reservations_at + 3 + size)
end

--: define_walk
-- Drops the reservations that have expired. If `caps` is set, no more can be given back of each of the others than
-- the state still counts of it.
local function walk(caps)
  local kept, from = {}, 1
  most, first_expiry, last_expiry = 0, 0, 0
  --+ begin_refundable
  for place = 1, #open, RESERVATION_BYTES do
    local taken_at, left, expires_at, holder = unpack('<I7xxxxI7I7c16', open, place)
    if expires_at <= time then
      kept[#kept + 1], from = sub(open, from, place - 1), place + RESERVATION_BYTES
    else
      if caps and left > 0 then
        local refundable = left
        --+ refundable_if_less
        local capped = refundable
        --+ lower
      end
      if left > most then most = left end
      if first_expiry == 0 or expires_at < first_expiry then first_expiry = expires_at end
      if expires_at > last_expiry then last_expiry = expires_at end
    end
  end
  --+ join_kept
end

--: lower
-- luacheck: globals capped left kept from place
-- No more than `capped` may be given back of the reservation at `place`. `kept` has the pieces of the new `open` up
-- to `from`.
if capped < left then
  left = capped
  kept[#kept + 1] = sub(open, from, place + 10)
  kept[#kept + 1], from = pack('<I7', left), place + 18
end

--: join_kept
if from > 1 then
  kept[#kept + 1] = sub(open, from)
  open, touched = table.concat(kept), true
end

--: refundable_if_less
--+ refundable

--: drop_expired_reservations
if open ~= '' and time >= first_expiry then walk(false) end

--: cap_before_taking
-- Where a rule knows that the state counts at least so much of each reservation, and what it does not count any more
-- it will never count again, nothing is capped.
do
  local least = 0
  --+ still_counted
  if most > least then walk(true) end
end
--+ drop_expired_reservations

--: still_counted
--+ least_refundable

--: cap_refundable
do
  local least = 0
  --+ least_refundable
  if most > least then walk(true) end
end

--: find_reservation
-- Where the reservation of `handle` begins. A handle is a hash, which may by chance stand where none begins.
local found_at = find(open, handle, 1, true)
while found_at and (found_at + 15) % RESERVATION_BYTES ~= 0 do found_at = find(open, handle, found_at + 1, true) end
found_at = found_at and found_at - 25

--: cut_reservation
-- Takes out the reservation at `found_at`.
do
  local expires_at = unpack('<I7', open, found_at + 18)
  open, touched = sub(open, 1, found_at - 1) .. sub(open, found_at + RESERVATION_BYTES), true
  stale = stale or expires_at >= last_expiry
end

--: drop_own_reservation
-- Drops the reservation of `handle`.
do
  --+ find_reservation
  removed = found_at ~= nil
  if found_at then
    --+ cut_reservation
  end
end

--: rename_reservation
-- Gives the reservation of `handle` the handle `new_handle`, in place of an older one of that handle, and
-- the full time that a reservation lives.
do
  local own_handle, handle = handle, new_handle
  --+ drop_own_reservation
  do
    local handle = own_handle
    --+ find_reservation
    if found_at then
      local expires_at = unpack('<I7', open, found_at + 18) + RESERVATION_EXTENSION
      open = sub(open, 1, found_at + 17) .. pack('<I7', expires_at) .. new_handle
        .. sub(open, found_at + RESERVATION_BYTES)
      removed, touched, stale = true, true, true
    end
  end
end

--: add_reservation
-- Adds what was reserved, also if that is nothing: it may be settled with more.
do
  local removed
  --+ drop_expired_reservations
  --+ drop_own_reservation
  if #open >= MAX_RESERVATIONS * RESERVATION_BYTES then
    local found_at, oldest = 1, unpack('<I7', open)
    for place = 1 + RESERVATION_BYTES, #open, RESERVATION_BYTES do
      local taken_at = unpack('<I7', open, place)
      if taken_at < oldest then found_at, oldest = place, taken_at end
    end
    --+ cut_reservation
  end
  local taken_at, holder, refundable, expires_at = now, handle, 0, time + RESERVATION_TTL
  --+ refundable_of_one
  open, touched = open .. pack('<I7I4I7I7c16', taken_at, cost, refundable, expires_at, holder), true
  if refundable > most then most = refundable end
  if first_expiry == 0 or expires_at < first_expiry then first_expiry = expires_at end
  if expires_at > last_expiry then last_expiry = expires_at end
end

--: refundable_of_one
--+ begin_refundable
--+ refundable

--: cap_after_settling
-- The other reservations are as if this one had taken only `actual`: what could be given back of them is less
-- by the rest, but not less than the least that was there since this one was taken.
if settled_amount > actual and most > 0 then
  local unspent, kept, from = settled_amount - actual, {}, 1
  local least_since = least > unspent and least - unspent or 0
  --+ begin_overlap
  most = 0
  for place = 1, #open, RESERVATION_BYTES do
    local taken_at, left = unpack('<I7xxxxI7', open, place)
    if left > 0 then
      local overlap
      --+ overlap
      local capped = left > overlap and left - overlap or 0
      if taken_at <= settled_at and least_since > capped then capped = least_since end
      --+ lower
      if left > most then most = left end
    end
  end
  --+ join_kept
end

--: pack_reservations
-- False if there are none.
local packed = open ~= '' and pack('<I4I7I7I7', 21 + #open, most, first_expiry, last_expiry) .. open

--: save_reservations
if stale then
  last_expiry = 0
  for place = 19, #open, RESERVATION_BYTES do
    local expires_at = unpack('<I7', open, place)
    if expires_at > last_expiry then last_expiry = expires_at end
  end
end
if touched then
  --+ pack_reservations
  limit.new_reservations = packed
end
if limit.new_body == nil then
  --+ reset_at
  limit.new_expiry = reset_at
end
if open ~= '' and last_expiry > limit.new_expiry then limit.new_expiry = last_expiry end
