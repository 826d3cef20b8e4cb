-- The rows of the open reservations, in the parts of limit.apart: how they are read, found and changed.
--
-- A row is a reservation. Its values lie in columns, since most operations need one or two of them. A part has a
-- column's values of up to ROWS_IN_PART rows; its name is the column's and a number from 1:
--
--   l   the least of the cost that was still counted at any time since (8 bytes, a double), 0 in a free row; see below
--   e   when it expires (8); in a free row the next free row, negative or 0
--   t   when the cost was taken (8)
--   s   how many were reserved before it (8), for those that were taken at the same instant
--   m   the first four bytes of its handle
--   d   the others (12), and the cost (4)
--
-- The field `h` has four numbers about each part (8 bytes each): no row of it was taken before this instant (`oldest`),
-- none after that one (`newest`), no more is left of any than so much (`bound`), and so much must be subtracted from
-- each `l` (`shift`). What is left of a row is the lesser of `bound` and `l` less `shift`, and not less than 0. So most
-- operations need to read no part, or one, and lower what is left of all rows in a part without reading them.
--
-- Sections:
--   define_rows       defines the functions that the sections of reservations.lua call
--
-- Expects, read only:
-- luacheck: read globals unpack pack spread sub find floor read_part read_parts change_part damaged
-- Expects and assigns (see README.md, and open_reservations in reservations.lua):
-- luacheck: globals limit rows open free_row most first_expiry last_expiry touched
-- Placeholders (see README.md):
-- luacheck: read globals ROWS_IN_PART HEADS_BYTES

--: define_rows
--+ open_apart
local apart = limit.apart
local function parts_of_rows() return floor((rows + ROWS_IN_PART - 1) / ROWS_IN_PART) end
local function forget_rows()
  for number = 1, parts_of_rows() do
    for _, column in ipairs({ 'l', 'e', 't', 's', 'm', 'd' }) do change_part(apart, column .. number, false) end
  end
  change_part(apart, 'h', false)
  rows, open, free_row, most, first_expiry, last_expiry, touched = 0, 0, 0, 0, 0, 0, true
end
-- Where the hash is lost, what was reserved stands as charged.
if rows > 0 and not read_part(apart, 'm1') then forget_rows() end
local function rows_in(number)
  local count = rows - (number - 1) * ROWS_IN_PART
  return count < ROWS_IN_PART and count or ROWS_IN_PART
end
local function column_part(column, width, number)
  local count = rows_in(number)
  if count == 0 then return '' end
  local part = read_part(apart, column .. number)
  if not part or #part ~= count * width then damaged() end
  return part
end
-- The numbers of all rows in a part, and how many they are. Reading them one by one takes four times as long.
local function numbers_in(column, number)
  local part = column_part(column, 8, number)
  local count = #part / 8
  return { unpack('<' .. ('d'):rep(count), part) }, count
end
local function put_numbers(column, number, numbers, count)
  change_part(apart, column .. number, pack('<' .. ('d'):rep(count), spread(numbers, 1, count)))
  touched = true
end
local function number_of(column, row)
  local place = (row - 1) % ROWS_IN_PART
  return (unpack('<d', column_part(column, 8, (row - 1 - place) / ROWS_IN_PART + 1), place * 8 + 1))
end
-- The numbers about all parts, and how many parts there are.
local function read_heads()
  local count = parts_of_rows()
  if count == 0 then return {}, 0 end
  local heads = read_part(apart, 'h')
  if not heads or #heads ~= count * HEADS_BYTES then damaged() end
  return { unpack('<' .. ('dddd'):rep(count), heads) }, count
end
local function put_heads(heads, count)
  change_part(apart, 'h', pack('<' .. ('dddd'):rep(count), spread(heads, 1, count * 4)))
  touched = true
end
-- Sets the oldest and the newest of a part to those of its rows, whether they are open or not.
local function narrow(heads, number, takens, count)
  local oldest, newest = takens[1], takens[1]
  for j = 2, count do
    local taken_at = takens[j]
    if taken_at < oldest then oldest = taken_at elseif taken_at > newest then newest = taken_at end
  end
  heads[number * 4 - 3], heads[number * 4 - 2] = oldest, newest
end
-- How much is left of each row of a part.
local function lefts_in(heads, number)
  local lefts, count = numbers_in('l', number)
  local bound, shift = heads[number * 4 - 1], heads[number * 4]
  for j = 1, count do
    local left = lefts[j] - shift
    lefts[j] = left > bound and bound or left > 0 and left or 0
  end
  return lefts, count
end
-- Writes that; the bound of the part is not less than any.
local function put_lefts(heads, number, lefts, count)
  put_numbers('l', number, lefts, count)
  heads[number * 4] = 0
end
local function left_of(row)
  local heads, before = read_heads(), floor((row - 1) / ROWS_IN_PART) * 4
  local left, bound = number_of('l', row) - heads[before + 4], heads[before + 3]
  return left > bound and bound or left > 0 and left or 0
end
local function details_of(row)
  local place = (row - 1) % ROWS_IN_PART
  return unpack('<c12I4', column_part('d', 16, (row - 1 - place) / ROWS_IN_PART + 1), place * 16 + 1)
end
-- Puts in the value of a row, or adds that of the next one.
local function put(column, row, value)
  local place, width = (row - 1) % ROWS_IN_PART, #value
  local number = (row - 1 - place) / ROWS_IN_PART + 1
  local part = column_part(column, width, number)
  part = sub(part, 1, place * width) .. value .. sub(part, (place + 1) * width + 1)
  change_part(apart, column .. number, part)
  touched = true
end
local function put_number(column, row, number) put(column, row, pack('<d', number)) end
local function put_handle(row, handle, amount)
  put('m', row, sub(handle, 1, 4))
  put('d', row, pack('<c12I4', sub(handle, 5), amount))
end
local function cut_row(row)
  put_number('e', row, -free_row)
  put_number('l', row, 0)
  put('m', row, '\0\0\0\0')
  free_row, open = row, open - 1
end
-- The row of a handle.
local function find_row(handle)
  local mark, rest = sub(handle, 1, 4), sub(handle, 5)
  read_parts(apart, 'm', parts_of_rows())
  for number = 1, parts_of_rows() do
    local marks = column_part('m', 4, number)
    local place = find(marks, mark, 1, true)
    while place do
      local row = (number - 1) * ROWS_IN_PART + (place + 3) / 4
      if place % 4 == 1 and details_of(row) == rest and number_of('e', row) > 0 then return row end
      place = find(marks, mark, place + 1, true)
    end
  end
end
