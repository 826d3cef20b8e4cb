-- Entries in the order of their keys, of which all but the newest lie apart: so an operation reads and writes the
-- newest, and those that it acts on. It is what slots.lua and held.lua keep their slots and leases in.
--
-- The newest are the `tail`, which stands in the body. When it has more than twice MAX_INLINE entries, the oldest
-- MAX_INLINE of them become a block, a part of limit.apart: `b` and its number. An entry in a block has ENTRY_BYTES
-- and begins with its key and its amount (7 each). Two neighbours together have more than three quarters of MAX_BLOCK
-- entries, so that there are few blocks. If there are blocks, the tail is not empty.
--
-- The body has, behind its head, an index: for each block its number (4), the key of its first entry (7), the sum of
-- its amounts (7) and how many entries it has (2), in columns.
--
-- Sections:
--   open_blocks     defines `tail_at`, where the tail begins. If there are `blocks` or there may be some in the end,
--                   reads the index at `index_at` (`ids` and its other columns) and defines the functions that the rule
--                   calls; else `ids` is nil
--   find_key        sets `found` to the key of the entry with which all so far amount to `wanted`
--   settle_blocks   keeps the tail and the blocks at their sizes, and defines `index`, as it is written, and
--                   `kept_blocks`, how many blocks that is
--   save_body       writes what is saved: `head`, with the index, and the tail
-- The rule has `entry_of_tail` (sets `key` and `amount` of the entry of the tail at `place`), `thaw_and_freeze`
-- (functions that return entries of a block as they are in the tail, and of the tail as in a block), and
-- `may_need_blocks` (whether what it does calls a function for blocks though there may be none). One that keeps more
-- about blocks has `mark_blocks` and `unmark_blocks`. TAIL_BYTES is the size of an entry in the tail.
--
-- Expects, read only:
-- luacheck: read globals unpack pack spread sub read_part change_part damaged thaw freeze past
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject tail key amount blocks_apart grown ids firsts sums sizes
-- luacheck: globals forget_blocks passed drop_passed block_for place_after drop_last key_in_blocks settle_tail
-- luacheck: globals block_of put_block grow_block refill apart_count
-- luacheck: read globals blocks index_at
-- Placeholders (see README.md):
-- luacheck: read globals ENTRY_BYTES TAIL_BYTES MAX_INLINE MAX_BLOCK MAX_BLOCKS NEEDS_BLOCKS VALUE_SUFFICES
-- luacheck: read globals VERSION_CHAR TAG

--: open_blocks
local ids, firsts, sums, sizes, blocks_apart, grown
local block_of, put_block, grow_block, forget_blocks, passed, drop_passed, block_for, place_after, refill, drop_last
local key_in_blocks, apart_count, settle_tail
local tail_at, needs_blocks = index_at + blocks * 20, NEEDS_BLOCKS or blocks > 0
--+ may_need_blocks
-- Making the functions takes longer than a check that needs none of them. It may add one entry to the tail.
if needs_blocks or past - tail_at >= 2 * MAX_INLINE * TAIL_BYTES then
  --+ define_block_functions
end

--: read_index
ids, firsts, sums, sizes = {}, {}, {}, {}
if blocks > 0 then
  if blocks > MAX_BLOCKS then damaged() end
  local column = function(kind, at)
    local numbers = { unpack('<' .. kind:rep(blocks), subject.value, at) }
    numbers[blocks + 1] = nil
    return numbers
  end
  ids, firsts = column('I4', index_at), column('I7', index_at + blocks * 4)
  sums, sizes = column('I7', index_at + blocks * 11), column('I2', index_at + blocks * 18)
end

--: define_block_functions
--+ open_apart
--+ read_index
--+ thaw_and_freeze
-- `grown` has the numbers of the blocks that have got entries in this call.
blocks_apart, grown = limit.apart, {}
local reshaped = false
-- An earlier load of this call may have changed blocks in vain.
for field in pairs(blocks_apart.changed) do
  if field:find('^[bf]') then blocks_apart.parts[field], blocks_apart.changed[field] = nil, nil end
end
-- How many entries lie apart.
function apart_count()
  local count = 0
  for _, size in ipairs(sizes) do count = count + size end
  return count
end
function block_of(i)
  local block = read_part(blocks_apart, 'b' .. ids[i])
  if not block or #block ~= sizes[i] * ENTRY_BYTES then damaged() end
  return block
end
local function remove_block(i)
  change_part(blocks_apart, 'b' .. ids[i], false)
  for _, list in ipairs({ ids, firsts, sums, sizes }) do table.remove(list, i) end
end
-- Changes a block; its sum grows by so much.
function put_block(i, block, by)
  reshaped = true
  if block == '' then
    remove_block(i)
  else
    change_part(blocks_apart, 'b' .. ids[i], block)
    firsts[i] = unpack('<I7', block)
    sums[i], sizes[i] = sums[i] + by, #block / ENTRY_BYTES
  end
end
-- The same where entries are added to it.
function grow_block(i, block, by)
  grown[ids[i]] = true
  put_block(i, block, by)
end
local function insert_block(i, block, sum)
  local id = 1
  for _, other in ipairs(ids) do
    if other >= id then id = other + 1 end
  end
  table.insert(ids, i, id)
  table.insert(firsts, i, 0)
  table.insert(sums, i, sum)
  table.insert(sizes, i, 0)
  grow_block(i, block, 0)
end
function forget_blocks()
  for i = #ids, 1, -1 do remove_block(i) end
  --+ unmark_blocks
end
-- The sum of the entries apart whose key is not later; how many whole blocks they are, how many bytes of the next
-- one, and the sum of these.
function passed(bound)
  local sum, past, count = 0, 0, #ids
  while past < count and firsts[past + 1] <= bound
    and (past + 1 < count and firsts[past + 2] or (unpack('<I7', tail))) <= bound do
    past = past + 1
    sum = sum + sums[past]
  end
  local place, partly = 1, 0
  if past < count and firsts[past + 1] <= bound then
    local block = block_of(past + 1)
    while place < #block do
      local key, amount = unpack('<I7I7', block, place)
      if key > bound then break end
      place, partly = place + ENTRY_BYTES, partly + amount
    end
  end
  return sum + partly, past, place - 1, partly
end
-- Drops what `passed` has found.
function drop_passed(past, bytes, partly)
  if past > 0 then
    for i = 1, past do
      change_part(blocks_apart, 'b' .. ids[i], false)
    end
    for _, list in ipairs({ ids, firsts, sums, sizes }) do
      for i = 1, #list do list[i] = list[i + past] end
    end
  end
  if bytes > 0 then
    put_block(1, sub(block_of(1), bytes + 1), -partly)
  end
end
-- The last block that begins no later than this.
function block_for(key)
  local i = #ids
  while i > 1 and firsts[i] > key do i = i - 1 end
  return i
end
-- How many bytes of a block the entries take whose key is not later.
function place_after(block, key)
  local first, past = 0, #block / ENTRY_BYTES
  while first < past do
    local middle = math.floor((first + past) / 2)
    if unpack('<I7', block, middle * ENTRY_BYTES + 1) > key then past = middle else first = middle + 1 end
  end
  return first * ENTRY_BYTES
end
-- If the tail is empty, the last block becomes the tail.
function refill()
  if tail == '' and #ids > 0 then
    local block = block_of(#ids)
    remove_block(#ids)
    tail = thaw(block)
  end
end
-- Takes away up to `left`, which is more than the tail had, from the last blocks. Returns what is left of it.
function drop_last(left)
  while #ids > 0 and sums[#ids] <= left do
    left = left - sums[#ids]
    remove_block(#ids)
  end
  refill()
  return left
end
-- The key of the entry apart with which all so far amount to so much, or nil; and what they amount to before the first
-- entry that was not looked at.
function key_in_blocks(wanted)
  local sum, i = 0, 1
  while ids[i] and sum + sums[i] < wanted do
    sum, i = sum + sums[i], i + 1
  end
  if ids[i] then
    local block = block_of(i)
    for place = 1, #block, ENTRY_BYTES do
      local key, amount = unpack('<I7I7', block, place)
      sum = sum + amount
      if sum >= wanted then return key, sum end
    end
  end
  return nil, sum
end
-- Keeps the tail and the blocks at their sizes.
function settle_tail()
  refill()
  while #tail > 2 * MAX_INLINE * TAIL_BYTES do
    local block, sum = freeze(sub(tail, 1, MAX_INLINE * TAIL_BYTES)), 0
    for place = 1, #block, ENTRY_BYTES do sum = sum + unpack('<xxxxxxxI7', block, place) end
    tail = sub(tail, MAX_INLINE * TAIL_BYTES + 1)
    if #ids > 0 and sizes[#ids] + MAX_INLINE <= MAX_BLOCK * 3 / 4 then
      grow_block(#ids, block_of(#ids) .. block, sum)
    else
      insert_block(#ids + 1, block, sum)
    end
  end
  if reshaped then
    for i = #ids, 1, -1 do
      while ids[i] and sizes[i] > MAX_BLOCK do
        local block, half, sum = block_of(i), MAX_BLOCK / 2 * ENTRY_BYTES, 0
        local rest = sub(block, half + 1)
        for place = 1, #rest, ENTRY_BYTES do sum = sum + unpack('<xxxxxxxI7', rest, place) end
        put_block(i, sub(block, 1, half), -sum)
        insert_block(i + 1, rest, sum)
        i = i + 1
      end
    end
    for i = #ids, 1, -1 do
      if ids[i + 1] and sizes[i] + sizes[i + 1] <= MAX_BLOCK * 3 / 4 then
        grow_block(i, block_of(i) .. block_of(i + 1), sums[i + 1])
        remove_block(i + 1)
      end
    end
  end
end

--: find_key
-- luacheck: read globals wanted
-- luacheck: globals found
do
  local sum = 0
  if ids then found, sum = key_in_blocks(wanted) end
  local place = 1
  while not found and place <= #tail do
    local key, amount
    --+ entry_of_tail
    sum, place = sum + amount, place + TAIL_BYTES
    if sum >= wanted then found = key end
  end
end

--: settle_blocks
local index, kept_blocks = '', 0
if ids then
  settle_tail()
  --+ mark_blocks
  kept_blocks = #ids
  if kept_blocks > 0 then
    local column = function(kind, numbers) return pack('<' .. kind:rep(kept_blocks), spread(numbers)) end
    index = column('I4', ids) .. column('I7', firsts) .. column('I7', sums) .. column('I2', sizes)
  end
end

--: save_body
-- luacheck: read globals head
-- What is long is copied once: into the whole value, if there is nothing else in it.
limit.new_value = VALUE_SUFFICES and VERSION_CHAR .. TAG .. head .. tail or nil
limit.new_body = not limit.new_value and head .. tail
