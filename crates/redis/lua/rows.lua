-- The rows of the open reservations, in the parts of limit.apart: how they are read, found and changed.
--
-- A row is a reservation. Rows are in the order in which their cost was taken, those of the same instant in the order
-- in which they were reserved. They are divided into groups of up to ROWS_IN_GROUP, so that an operation that concerns
-- a stretch of time reads the rows of one group or two. Two neighbours together have more than three quarters of that,
-- so that there are few groups. A group has two parts, named by its number:
--
--   l   of each row, the least of the cost that was still counted at any time since (8 bytes, a double); see below
--   r   the rows: when it was taken and when it expires (8 each, doubles), its handle (16) and its cost (4)
--
-- The part `m` has the first two bytes of all handles. The part `h` has what is known of each group, in columns of
-- doubles: its number, how many rows it has, when the first and when the last of them was taken (`oldest`, `newest`),
-- before when none of them expires, no more is left of any than so much (`bound`), and so much must be subtracted from
-- each `l` (`shift`). What is left of a row is the lesser of `bound` and `l` less `shift`, and not less than 0. So most
-- operations read no row, and lower what is left of all rows in a group without reading them.
--
-- Making a string takes a script longer than anything else, 5 ns for each byte, so that rows are cut and joined with as
-- few of them as can be.
--
-- Sections:
--   define_rows      defines the functions that other sections call
--   define_heads     defines those about groups
--   define_columns   defines those that read rows, and what is left of them
--   define_changes   defines those that find, insert and remove rows
--
-- Expects, read only:
-- luacheck: read globals unpack pack spread sub read_part change_part damaged
-- Expects and assigns (see README.md, and open_reservations in reservations.lua):
-- luacheck: globals limit groups open most first_expiry last_expiry touched
-- luacheck: globals counts
-- Placeholders (see README.md):
-- luacheck: read globals ROWS_IN_GROUP GROUP_HEAD_BYTES MARK_BYTES ROW_BYTES

--: define_rows
--+ open_apart
local apart = limit.apart
local group_ids, oldests, newests, expiries, bounds, shifts
local read_heads, write_heads, forget_rows, find_row, row_of, left_of, lefts_in, put_lefts, takens_in, ends_in
local cut_rows, join, remove_row, insert_row
do
  -- In a block of their own, since Lua has no more than two hundred locals at once.
  local counts
  --+ define_heads
  --+ define_columns
  --+ define_changes
end

--: define_heads
local function all_columns() return { group_ids, counts, oldests, newests, expiries, bounds, shifts } end
-- Doubles. Reading them one by one takes four times as long.
local function numbers_of(bytes, first, count)
  local numbers = { unpack('<' .. ('d'):rep(count), bytes, first * 8 + 1) }
  numbers[count + 1] = nil
  return numbers
end
local function pack_numbers(numbers, count) return pack('<' .. ('d'):rep(count), spread(numbers, 1, count)) end
-- Reads what is known of each group, unless that was done.
function read_heads()
  if group_ids then return end
  local heads, rows = groups == 0 and '' or read_part(apart, 'h'), 0
  if not heads then
    -- Where the hash is lost, what was reserved stands as charged.
    heads, groups, open, most, first_expiry, last_expiry, touched = '', 0, 0, 0, 0, 0, true
    change_part(apart, 'm', false)
  end
  if #heads ~= groups * GROUP_HEAD_BYTES then damaged() end
  local column = function(number) return numbers_of(heads, number * groups, groups) end
  group_ids, counts, oldests, newests = column(0), column(1), column(2), column(3)
  expiries, bounds, shifts = column(4), column(5), column(6)
  for _, count in ipairs(counts) do
    if not (count >= 1 and count <= ROWS_IN_GROUP and count % 1 == 0) then damaged() end
    rows = rows + count
  end
  if rows ~= open then damaged() end
end
-- Writes that, if it was read.
function write_heads()
  if not group_ids then return end
  local packed = {}
  for number, column in ipairs(all_columns()) do packed[number] = pack_numbers(column, groups) end
  change_part(apart, 'h', groups > 0 and table.concat(packed))
end
-- Makes room for a group without rows.
local function new_group(i)
  local id = 1
  for _, other in ipairs(group_ids) do
    if other >= id then id = other + 1 end
  end
  for _, column in ipairs(all_columns()) do table.insert(column, i, 0) end
  group_ids[i], expiries[i], groups = id, math.huge, groups + 1
  change_part(apart, 'l' .. id, '')
  change_part(apart, 'r' .. id, '')
end
local function forget_group(i)
  change_part(apart, 'l' .. group_ids[i], false)
  change_part(apart, 'r' .. group_ids[i], false)
  for _, column in ipairs(all_columns()) do table.remove(column, i) end
  groups = groups - 1
end

--: define_columns
local function checked(part, bytes)
  if not part or #part ~= bytes then damaged() end
  return part
end
local function marks_of_all() return open == 0 and '' or checked(read_part(apart, 'm'), open * MARK_BYTES) end
local function lefts_of(i) return checked(read_part(apart, 'l' .. group_ids[i]), counts[i] * 8) end
local function rows_of(i) return checked(read_part(apart, 'r' .. group_ids[i]), counts[i] * ROW_BYTES) end
-- When each row of a group was taken, and when each of them expires.
local function instants_in(i, at)
  local instants, rows = {}, rows_of(i)
  for j = 1, counts[i] do instants[j] = unpack('<d', rows, (j - 1) * ROW_BYTES + at) end
  return instants
end
function takens_in(i) return instants_in(i, 1) end
function ends_in(i) return instants_in(i, 9) end
-- When a row was taken, when it expires, its handle and its cost.
function row_of(i, j) return unpack('<ddc16I4', rows_of(i), (j - 1) * ROW_BYTES + 1) end
function left_of(i, j)
  local left, bound = unpack('<d', lefts_of(i), j * 8 - 7) - shifts[i], bounds[i]
  return left > bound and bound or left > 0 and left or 0
end
-- How much is left of each row of a group.
function lefts_in(i)
  local lefts, bound, shift = numbers_of(lefts_of(i), 0, counts[i]), bounds[i], shifts[i]
  for j, left in ipairs(lefts) do
    left = left - shift
    lefts[j] = left > bound and bound or left > 0 and left or 0
  end
  return lefts
end
function put_lefts(i, lefts)
  change_part(apart, 'l' .. group_ids[i], pack_numbers(lefts, counts[i]))
  shifts[i], touched = 0, true
end

--: define_changes
local function put_group(i, rows, lefts)
  touched = true
  if rows == '' then return forget_group(i) end
  change_part(apart, 'r' .. group_ids[i], rows)
  change_part(apart, 'l' .. group_ids[i], lefts)
  counts[i], oldests[i], newests[i] = #rows / ROW_BYTES, unpack('<d', rows), (unpack('<d', rows, #rows - ROW_BYTES + 1))
end
-- Puts bytes in place of so many entries.
local function splice(part, width, j, removed, bytes)
  return sub(part, 1, (j - 1) * width) .. bytes .. sub(part, (j - 1 + removed) * width + 1)
end
local function splice_group(i, j, removed, row, left)
  put_group(i, splice(rows_of(i), ROW_BYTES, j, removed, row), splice(lefts_of(i), 8, j, removed, left))
end
local function splice_marks(i, j, removed, mark)
  for other = 1, i - 1 do j = j + counts[other] end
  change_part(apart, 'm', splice(marks_of_all(), MARK_BYTES, j, removed, mark))
end
-- Joins a group with its neighbours, if they are small.
function join(i)
  for first = i, i - 1, -1 do
    if first > 0 and first < groups and counts[first] + counts[first + 1] <= ROWS_IN_GROUP * 3 / 4 then
      put_lefts(first, lefts_in(first))
      put_lefts(first + 1, lefts_in(first + 1))
      if bounds[first + 1] > bounds[first] then bounds[first] = bounds[first + 1] end
      if expiries[first + 1] < expiries[first] then expiries[first] = expiries[first + 1] end
      splice_group(first, counts[first] + 1, 0, rows_of(first + 1), lefts_of(first + 1))
      forget_group(first + 1)
    end
  end
end
function cut_rows(i, first, last)
  local removed = last - first + 1
  splice_marks(i, first, removed, '')
  open = open - removed
  splice_group(i, first, removed, '', '')
end
function remove_row(i, j)
  cut_rows(i, j, j)
  join(i)
end
-- Moves the rows of a group from one on to a new group.
local function split(i, j)
  local rows, lefts = rows_of(i), lefts_of(i)
  new_group(i + 1)
  bounds[i + 1], shifts[i + 1], expiries[i + 1] = bounds[i], shifts[i], expiries[i]
  put_group(i + 1, sub(rows, (j - 1) * ROW_BYTES + 1), sub(lefts, j * 8 - 7))
  put_group(i, sub(rows, 1, (j - 1) * ROW_BYTES), sub(lefts, 1, j * 8 - 8))
end
-- Where a row belongs that was taken at that instant: its group, which has room, and its place there.
local function place_for(taken_at)
  local i = groups
  while i > 1 and oldests[i] > taken_at do i = i - 1 end
  if i == 0 then
    new_group(1)
    return 1, 1
  end
  local j = counts[i] + 1
  if taken_at < newests[i] then
    local takens = takens_in(i)
    while j > 1 and takens[j - 1] > taken_at do j = j - 1 end
  end
  if counts[i] < ROWS_IN_GROUP then return i, j end
  if j == 1 or j > counts[i] then
    -- In front of the first group, or behind this one.
    local new = j == 1 and 1 or i + 1
    new_group(new)
    return new, 1
  end
  split(i, j)
  return i, j
end
function insert_row(taken_at, expires_at, handle, amount, left)
  read_heads()
  local i, j = place_for(taken_at)
  -- The bound of the group may grow, so that it must not stand for what is left of the others.
  if counts[i] > 0 and (left > bounds[i] or shifts[i] ~= 0) then put_lefts(i, lefts_in(i)) end
  if left > bounds[i] then bounds[i] = left end
  if expires_at < expiries[i] then expiries[i] = expires_at end
  splice_marks(i, j, 0, sub(handle, 1, MARK_BYTES))
  open = open + 1
  splice_group(i, j, 0, pack('<ddc16I4', taken_at, expires_at, handle, amount), pack('<d', left))
  join(i)
end
function forget_rows()
  read_heads()
  for i = groups, 1, -1 do forget_group(i) end
  change_part(apart, 'm', false)
  change_part(apart, 'h', false)
  open, most, first_expiry, last_expiry, touched = 0, 0, 0, 0, true
end
-- The place of the row of a handle among those of a group.
local function find_in_group(i, handle)
  local rows = rows_of(i)
  local place = string.find(rows, handle, 1, true)
  while place and place % ROW_BYTES ~= 17 do place = string.find(rows, handle, place + 1, true) end
  return place and (place - 17) / ROW_BYTES + 1
end
-- The group and the place of the row of a handle.
function find_row(handle)
  read_heads()
  local marks, mark = marks_of_all(), sub(handle, 1, MARK_BYTES)
  local i, past = 0, 0
  local place = string.find(marks, mark, 1, true)
  while place do
    if place % MARK_BYTES ~= 1 then
      place = place + 1
    else
      while past < place do i, past = i + 1, past + counts[i + 1] * MARK_BYTES end
      local j = find_in_group(i, handle)
      if j then return i, j end
      -- However many marks of the group are the same, it is looked through once.
      place = past + 1
    end
    place = string.find(marks, mark, place, true)
  end
end
