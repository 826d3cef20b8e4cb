-- In which blocks the leases of a handle may be, so that few are read. A part of the rule held (held.lua says how
-- leases are written, blocks.lua what a block is).
--
-- Each handle in a block has a mark: two of its bytes. The marks lie apart in MARK_PARTS parts, `f` and a number that
-- follows from the first byte of the handle, so that one of them is read for a handle. A part has a group for each
-- block: its number (4), how many marks there are (2), and the marks. Marks are written where a block has got leases,
-- and stay where it has lost some: then the block is read in vain.
--
-- Sections:
--   look_in_blocks   calls `look` for each block that may have a lease of `handle`
--   mark_blocks      writes the marks of blocks that have grown
--   unmark_blocks    removes all marks
--
-- Expects, read only:
-- luacheck: read globals handle unpack pack sub byte look damaged read_part change_part
-- luacheck: read globals blocks blocks_apart ids block_of grown
-- `mark_block` reads `i`.
-- luacheck: ignore 213
-- Placeholders:
-- luacheck: read globals LEASE_BYTES MARK_PARTS

--: look_in_blocks
-- The marks of what has grown in this call are not written yet.
local may_have, mark, first = {}, sub(handle, 2, 3), 1
for id in pairs(grown) do may_have[id] = true end
local marks = blocks > 0 and read_part(blocks_apart, 'f' .. byte(handle) % MARK_PARTS)
if blocks > 0 and not marks then damaged() end
local found_at = marks and string.find(marks, mark, 1, true)
while found_at do
  local id, count = unpack('<I4I2', marks, first)
  local past = first + 6 + 2 * count
  if found_at >= past then
    first = past
  else
    if found_at >= first + 6 and (found_at - first) % 2 == 0 then may_have[id] = true end
    found_at = string.find(marks, mark, found_at + 1, true)
  end
end
for i, id in ipairs(ids) do
  if may_have[id] then look(i, block_of(i)) end
end

--: mark_blocks
if #ids == 0 then
  --+ unmark_blocks
elseif next(grown) then
  local groups, kept = {}, {}
  for part = 0, MARK_PARTS - 1 do groups[part] = {} end
  for i, id in ipairs(ids) do
    kept[id] = not grown[id]
    if grown[id] then
      --+ mark_block
    end
  end
  for part, some in pairs(groups) do
    local marks, first = blocks > 0 and read_part(blocks_apart, 'f' .. part) or '', 1
    while first < #marks do
      local id, count = unpack('<I4I2', marks, first)
      if kept[id] then some[#some + 1] = sub(marks, first, first + 5 + 2 * count) end
      first = first + 6 + 2 * count
    end
    change_part(blocks_apart, 'f' .. part, table.concat(some))
  end
end

--: mark_block
-- luacheck: read globals i id
-- luacheck: globals groups
-- Adds the marks of a block to `groups`.
local block, marks = block_of(i), {}
for part = 0, MARK_PARTS - 1 do marks[part] = {} end
for place = 15, #block, LEASE_BYTES do
  local some = marks[byte(block, place) % MARK_PARTS]
  some[#some + 1] = sub(block, place + 1, place + 2)
end
for part, some in pairs(marks) do
  groups[part][#groups[part] + 1] = pack('<I4I2', id, #some) .. table.concat(some)
end

--: unmark_blocks
if blocks > 0 then
  for part = 0, MARK_PARTS - 1 do change_part(blocks_apart, 'f' .. part, false) end
end
