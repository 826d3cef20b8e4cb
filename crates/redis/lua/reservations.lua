-- Open reservations of one limit, which a later `settle` corrects.
--
-- A limit that has any keeps numbers about them behind its body, in RESERVATIONS_BYTES: how many there are, in how many
-- groups they are kept, the most that may be given back of any of them, when the first and when the last of them
-- expires, and whether the state was converted since what may be given back of each was lowered (`converted`). The most
-- and the instants are bounds: nothing has to be done for the reservations where they say so. The reservations
-- themselves are apart (rows.lua), and an operation that these numbers leave nothing to do for does not read them.
-- caps.lua lowers what may be given back of each.
--
-- Sections:
--   open_reservations       reads the numbers
--   drop_expired_reservations, drop_own_reservation, rename_reservation, add_reservation
--                           change the rows and the numbers
--   save_reservations       writes the numbers to limit.new_reservations, if anything changed
--
-- Expects, read only:
-- luacheck: read globals time now cost handle new_handle reset_at unpack pack
-- luacheck: read globals read_heads write_heads forget_rows find_row row_of remove_row insert_row cut_rows join
-- luacheck: read globals left_of ends_in
-- Expects and assigns (`limit` and `subject`: see README.md; `removed` says whether the list changed):
-- luacheck: globals limit subject removed
-- luacheck: globals packed
-- luacheck: globals expiries open groups most first_expiry last_expiry converted touched
-- Placeholders (see README.md):
-- luacheck: read globals RESERVATION_TTL RESERVATION_EXTENSION MAX_RESERVATIONS

--: open_reservations
-- `touched`: they must be written.
local open, groups, most, first_expiry, last_expiry, converted, touched = 0, 0, 0, 0, 0, 0, false
if limit.reservations_at then
  open, groups, most, first_expiry, last_expiry, converted =
    unpack('<I2I2I7I7I7B', subject.value, limit.reservations_at)
  if open > MAX_RESERVATIONS or groups > open then
    return redis.error_reply('TGSTATE more reservations than there can be')
  end
end

--: drop_expired_reservations
if open > 0 and time >= first_expiry then
  if time >= last_expiry then
    forget_rows()
  else
    read_heads()
    for i = groups, 1, -1 do
      if expiries[i] <= time then
        --+ drop_expired_in_group
      end
    end
    first_expiry, touched = last_expiry, true
    for _, expires_at in ipairs(expiries) do
      if expires_at < first_expiry then first_expiry = expires_at end
    end
  end
end

--: drop_expired_in_group
-- luacheck: read globals i
do
  local ends, earliest, last = ends_in(i), math.huge, nil
  for j = #ends, 1, -1 do
    if ends[j] > time then
      if ends[j] < earliest then earliest = ends[j] end
    else
      last = last or j
      if j == 1 or ends[j - 1] > time then
        cut_rows(i, j, last)
        last = nil
      end
    end
  end
  -- Without any row that is left there is no such group any more.
  if earliest < math.huge then expiries[i] = earliest end
  join(i)
end

--: drop_own_reservation
-- Drops the reservation of `handle`.
do
  local i, j = find_row(handle)
  removed = i ~= nil
  if i then remove_row(i, j) end
end

--: rename_reservation
-- Gives the reservation of `handle` the handle `new_handle`, in place of an older one of that handle, and
-- the full time that a reservation lives.
do
  local i, j = find_row(new_handle)
  removed = i ~= nil
  if i then remove_row(i, j) end
  i, j = find_row(handle)
  if i then
    local taken_at, expires_at, _, amount = row_of(i, j)
    local left = left_of(i, j)
    remove_row(i, j)
    expires_at, removed = expires_at + RESERVATION_EXTENSION, true
    insert_row(taken_at, expires_at, new_handle, amount, left)
    if expires_at > last_expiry then last_expiry = expires_at end
  end
end

--: add_reservation
-- Adds what was reserved, also if that is nothing: it may be settled with more.
do
  local removed
  --+ drop_expired_reservations
  --+ drop_own_reservation
  -- The oldest stands as charged.
  if open >= MAX_RESERVATIONS then remove_row(1, 1) end
  local taken_at, refundable, expires_at = now, 0, time + RESERVATION_TTL
  --+ refundable_of_one
  insert_row(taken_at, expires_at, handle, cost, refundable)
  if refundable > most then most = refundable end
  if open == 1 or expires_at < first_expiry then first_expiry = expires_at end
  if expires_at > last_expiry then last_expiry = expires_at end
end

--: refundable_of_one
--+ begin_refundable
--+ refundable

--: pack_reservations
-- False if there are none.
if open == 0 then forget_rows() else write_heads() end
local packed = open > 0 and pack('<I2I2I7I7I7B', open, groups, most, first_expiry, last_expiry, converted)

--: save_reservations
if touched then
  --+ pack_reservations
  limit.new_reservations = packed
end
if limit.new_body == nil then
  --+ reset_at
  limit.new_expiry = reset_at
end
if open > 0 and last_expiry > limit.new_expiry then limit.new_expiry = last_expiry end
