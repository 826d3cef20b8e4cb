-- Open reservations of one limit, which a later `settle` corrects.
--
-- A limit that has any keeps numbers about them behind its body, in RESERVATIONS_BYTES: how many rows there are, how
-- many of them are open, the first free row, how many were ever reserved, the most that may be given back of any of
-- them, when the first and when the last of them expires. The last three are bounds: nothing has to be done for the
-- reservations where they say so. The reservations themselves are apart (rows.lua), and an operation that these
-- numbers leave nothing to do for does not read them. caps.lua lowers what may be given back of each.
--
-- Sections:
--   open_reservations       reads the numbers
--   drop_expired_reservations, drop_own_reservation, rename_reservation, add_reservation, evict_oldest
--                           change the rows and the numbers
--   save_reservations       writes the numbers to limit.new_reservations, if anything changed
--
-- Expects, read only:
-- luacheck: read globals time now cost handle new_handle reset_at unpack pack sub
-- luacheck: read globals settled_at settled_amount actual least
-- luacheck: read globals forget_rows parts_of_rows numbers_in put_numbers number_of details_of put put_number
-- luacheck: read globals put_handle cut_row find_row damaged read_heads put_heads lefts_in put_lefts narrow
-- Expects and assigns (`limit` and `subject`: see README.md; `removed` says whether the list changed):
-- luacheck: globals limit subject removed walk
-- luacheck: globals packed
-- luacheck: globals rows open free_row serial most first_expiry last_expiry touched
-- Placeholders (see README.md):
-- luacheck: read globals RESERVATION_TTL RESERVATION_EXTENSION MAX_RESERVATIONS ROWS_IN_PART

--: open_reservations
-- `touched`: they must be written.
local rows, open, free_row, serial, most, first_expiry, last_expiry, touched = 0, 0, 0, 0, 0, 0, 0, false
if limit.reservations_at then
  rows, open, free_row, serial, most, first_expiry, last_expiry =
    unpack('<I2I2I2I7I7I7I7', subject.value, limit.reservations_at)
  if rows > MAX_RESERVATIONS or open > rows or free_row > rows then
    return redis.error_reply('TGSTATE more reservations than there can be')
  end
end

--: drop_expired_reservations
if open > 0 and time >= first_expiry then
  if time >= last_expiry then
    forget_rows()
  else
    first_expiry = last_expiry
    for number = 1, parts_of_rows() do
      local ends, rows_here = numbers_in('e', number)
      local lefts
      for j = 1, rows_here do
        local expires_at = ends[j]
        if expires_at > time then
          if expires_at < first_expiry then first_expiry = expires_at end
        elseif expires_at > 0 then
          lefts = lefts or numbers_in('l', number)
          ends[j], lefts[j] = -free_row, 0
          free_row, open = (number - 1) * ROWS_IN_PART + j, open - 1
        end
      end
      if lefts then
        put_numbers('e', number, ends, rows_here)
        put_numbers('l', number, lefts, rows_here)
      end
    end
    touched = true
  end
end

--: drop_own_reservation
-- Drops the reservation of `handle`.
do
  local row = find_row(handle)
  removed = row ~= nil
  if row then cut_row(row) end
end

--: rename_reservation
-- Gives the reservation of `handle` the handle `new_handle`, in place of an older one of that handle, and
-- the full time that a reservation lives.
do
  local row, older = find_row(handle), find_row(new_handle)
  if older then cut_row(older) end
  if row then
    local expires_at, _, amount = number_of('e', row) + RESERVATION_EXTENSION, details_of(row)
    put_number('e', row, expires_at)
    put_handle(row, new_handle, amount)
    if expires_at > last_expiry then last_expiry = expires_at end
  end
  removed = row ~= nil or older ~= nil
end

--: add_reservation
-- Adds what was reserved, also if that is nothing: it may be settled with more.
do
  local removed
  --+ drop_expired_reservations
  --+ drop_own_reservation
  if open >= MAX_RESERVATIONS then
    --+ evict_oldest
  end
  local row = free_row > 0 and free_row or rows + 1
  if row <= rows then
    free_row = -number_of('e', row)
    if not (free_row >= 0 and free_row <= rows and free_row % 1 == 0) then damaged() end
  end
  local taken_at, refundable, expires_at = now, 0, time + RESERVATION_TTL
  --+ refundable_of_one
  --+ add_to_part
  put_number('e', row, expires_at)
  put_number('t', row, taken_at)
  put_number('s', row, serial)
  put_handle(row, handle, cost)
  if row > rows then rows = row end
  open, serial = open + 1, serial + 1
  if refundable > most then most = refundable end
  if open == 1 or expires_at < first_expiry then first_expiry = expires_at end
  if expires_at > last_expiry then last_expiry = expires_at end
end

--: add_to_part
-- luacheck: read globals row taken_at refundable
-- Puts in how much is left of a row, and when it was taken into the head of its part.
do
  local heads, parts = read_heads()
  local place = (row - 1) % ROWS_IN_PART + 1
  local number = (row - place) / ROWS_IN_PART + 1
  local oldest, newest, bound = heads[number * 4 - 3], heads[number * 4 - 2], heads[number * 4 - 1]
  if number > parts then
    oldest, newest, bound, parts = taken_at, taken_at, 0, number
    heads[number * 4 - 1], heads[number * 4] = 0, 0
  end
  -- The bound of the part may grow, so that it must not stand for what is left of the others.
  local lefts, rows_here = lefts_in(heads, number)
  lefts[place] = refundable
  put_lefts(heads, number, lefts, place > rows_here and place or rows_here)
  heads[number * 4 - 3] = taken_at < oldest and taken_at or oldest
  heads[number * 4 - 2] = taken_at > newest and taken_at or newest
  heads[number * 4 - 1] = refundable > bound and refundable or bound
  put_heads(heads, parts)
end

--: evict_oldest
-- All rows are open.
do
  local heads, parts = read_heads()
  local oldest_row, oldest, oldest_serial, seen = 1, math.huge, nil, {}
  while true do
    -- The part that may have the oldest of those that were not looked through.
    local number, bound = nil, oldest
    for other = 1, parts do
      if not seen[other] and heads[other * 4 - 3] <= bound then number, bound = other, heads[other * 4 - 3] end
    end
    if not number then break end
    seen[number] = true
    --+ oldest_of_part
  end
  put_heads(heads, parts)
  cut_row(oldest_row)
end

--: oldest_of_part
-- luacheck: read globals number heads
-- luacheck: globals oldest_row oldest oldest_serial
do
  local takens, rows_here = numbers_in('t', number)
  local serials
  narrow(heads, number, takens, rows_here)
  for j = 1, rows_here do
    local row, taken_at = (number - 1) * ROWS_IN_PART + j, takens[j]
    if taken_at < oldest then
      oldest_row, oldest, oldest_serial = row, taken_at, nil
    elseif taken_at == oldest then
      serials, oldest_serial = serials or numbers_in('s', number), oldest_serial or number_of('s', oldest_row)
      if serials[j] < oldest_serial then oldest_row, oldest_serial = row, serials[j] end
    end
  end
end

--: refundable_of_one
--+ begin_refundable
--+ refundable

--: pack_reservations
-- False if there are none.
if open == 0 then forget_rows() end
local packed = open > 0 and pack('<I2I2I2I7I7I7I7', rows, open, free_row, serial, most, first_expiry, last_expiry)

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
