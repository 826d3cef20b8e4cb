-- Open reservations of one limit, which a later `settle` corrects.
--
-- Each is an array of five fields: when the cost was taken (TAKEN_AT), how much (AMOUNT), the least of it
-- that was still counted at any time since (REFUNDABLE), until when it can be settled (EXPIRES_AT), and
-- its HANDLE. A limit that has any keeps them behind its body: the size (4 bytes) and the reservations.
--
-- Sections:
--   read_reservations, write_reservations   functions from bytes to a list and back
--   open_reservations       defines both, and the list `reservations`
--   drop_expired_reservations, drop_own_reservation, rename_reservation, cap_refundable, add_reservation
--                           change the list
--   save_reservations       writes the list to limit.new_reservations
--
-- Expects, read only:
-- luacheck: read globals time now cost handle new_handle reset_at unpack pack
-- Expects and assigns (`limit` and `subject`: see README.md; `removed` says whether the list changed):
-- luacheck: globals limit subject removed
-- Placeholders (see README.md):
-- luacheck: read globals TAKEN_AT AMOUNT REFUNDABLE EXPIRES_AT HANDLE
-- luacheck: read globals RESERVATION_TTL RESERVATION_EXTENSION MAX_RESERVATIONS

--: read_reservations
local function read_reservations(bytes, place)
  local list, past = {}, place + 4 + unpack('<I4', bytes, place)
  place = place + 4
  while place < past do
    local reservation = {}
    reservation[TAKEN_AT], reservation[AMOUNT], reservation[REFUNDABLE], reservation[EXPIRES_AT],
      reservation[HANDLE], place = unpack('<I7I4I7I7I2c0', bytes, place)
    list[#list + 1] = reservation
  end
  return list
end

--: write_reservations
-- Returns the bytes, or false if the list is empty, and when the last of them expires.
local function write_reservations(list)
  local out, last = {}, 0
  for j, reservation in ipairs(list) do
    out[j] = pack('<I7I4I7I7I2c0', reservation[TAKEN_AT], reservation[AMOUNT], reservation[REFUNDABLE],
      reservation[EXPIRES_AT], #reservation[HANDLE], reservation[HANDLE])
    if reservation[EXPIRES_AT] > last then last = reservation[EXPIRES_AT] end
  end
  if #out == 0 then return false, 0 end
  out = table.concat(out)
  return pack('<I4', #out) .. out, last
end

--: open_reservations
--+ read_reservations
--+ write_reservations
local reservations = limit.reservations_at and read_reservations(subject.value, limit.reservations_at) or {}

--: drop_expired_reservations
do
  local kept = {}
  for _, reservation in ipairs(reservations) do
    if time < reservation[EXPIRES_AT] then kept[#kept + 1] = reservation end
  end
  reservations = kept
end

--: drop_own_reservation
-- Drops the reservation of `handle`.
do
  local kept = {}
  for _, reservation in ipairs(reservations) do
    if reservation[HANDLE] ~= handle then kept[#kept + 1] = reservation end
  end
  removed = #kept < #reservations
  reservations = kept
end

--: rename_reservation
-- Gives the reservation of `handle` the handle `new_handle`, in place of an older one of that handle, and
-- the full time that a reservation lives.
for j = #reservations, 1, -1 do
  if reservations[j][HANDLE] == new_handle then
    table.remove(reservations, j)
    removed = true
  end
end
for _, reservation in ipairs(reservations) do
  if reservation[HANDLE] == handle then
    reservation[HANDLE], reservation[EXPIRES_AT], removed =
      new_handle, reservation[EXPIRES_AT] + RESERVATION_EXTENSION, true
  end
end

--: cap_refundable
-- No more can be given back of a reservation than the state still counts of it.
for _, reservation in ipairs(reservations) do
  local refundable
  --+ refundable
  if refundable < reservation[REFUNDABLE] then reservation[REFUNDABLE] = refundable end
end

--: add_reservation
-- Adds what was reserved, also if that is nothing: it may be settled with more.
do
  local removed
  --+ drop_expired_reservations
  --+ drop_own_reservation
  if #reservations >= MAX_RESERVATIONS then
    local oldest = 1
    for j, reservation in ipairs(reservations) do
      if reservation[TAKEN_AT] < reservations[oldest][TAKEN_AT] then oldest = j end
    end
    table.remove(reservations, oldest)
  end
  local reservation, refundable = { now, cost, 0, time + RESERVATION_TTL, handle }, 0
  --+ refundable
  reservation[REFUNDABLE] = refundable
  reservations[#reservations + 1] = reservation
end

--: save_reservations
do
  local last
  limit.new_reservations, last = write_reservations(reservations)
  if limit.new_body == nil then
    --+ reset_at
    limit.new_expiry = reset_at
  end
  if last > limit.new_expiry then limit.new_expiry = last end
end
