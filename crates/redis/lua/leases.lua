-- The leases of one handle: how they are found, changed, released, renewed and renamed. A part of the rule held
-- (held.lua says how leases are written).
--
-- Sections:
--   own_leases               finds those of `handle`: `own`, and how much they hold: `held`
--   write_own                writes how much each of them holds now
--   release, renew, rename   what only this rule does for an operation
--
-- Expects, read only:
-- luacheck: read globals handle new_handle unpack pack sub
-- luacheck: read globals ids block_of put_block grow_block now ttl
-- Expects and assigns (`limit`: see README.md):
-- luacheck: globals limit applied tail used live own held
-- Placeholders:
-- luacheck: read globals LEASE_BYTES

--: own_leases
-- The leases of `handle` in their order, each with its block (0: the tail), and how much all of them hold.
local own, held = {}, 0
do
  local look = function(i, some)
    local found_at = string.find(some, handle, 1, true)
    while found_at do
      if found_at % LEASE_BYTES == 15 then
        local lease_end, count = unpack('<I7I7', some, found_at - 14)
        own[#own + 1] = { block = i, place = found_at - 14, lease_end = lease_end, count = count, before = count }
        held = held + count
      end
      found_at = string.find(some, handle, found_at + 1, true)
    end
  end
  if ids and #ids > 0 then
    --+ look_in_blocks
  end
  look(0, tail)
end

--: write_own
-- From the last to the first, so that the places of the others stay.
for j = #own, 1, -1 do
  local lease = own[j]
  local i, place = lease.block, lease.place
  if lease.count ~= lease.before then
    local some = i > 0 and block_of(i) or tail
    local kept = ''
    if lease.count > 0 then kept = pack('<I7I7c16', lease.lease_end, lease.count, handle) end
    some = sub(some, 1, place - 1) .. kept .. sub(some, place + LEASE_BYTES)
    if i > 0 then put_block(i, some, lease.count - lease.before) else tail = some end
  end
end
--+ tidy

--: release
-- luacheck: globals found
found = false
if live then
  --+ own_leases
  found = held > 0
  if found then
    used = used - held
    for _, lease in ipairs(own) do lease.count = 0 end
    --+ write_own
  end
end
applied = found

--: renew
-- luacheck: globals found
-- A lease never ends sooner than before: a clock that was stepped back must not shorten it.
found, applied = false, false
if live then
  --+ own_leases
  found = held > 0
  local lease_end, amount, renewed = now + ttl, 0, {}
  for _, lease in ipairs(own) do
    if lease.lease_end < lease_end then
      renewed[#renewed + 1], amount = pack('<I7I7c16', lease_end, lease.count, handle), amount + lease.count
      lease.count = 0
    end
  end
  applied = #renewed > 0
  if applied then
    --+ write_own
    local inserted = table.concat(renewed)
    --+ insert
    live = true
  end
end

--: rename
-- Gives the leases of `handle` the handle `new_handle`.
--+ cap_reservation_of_new_handle
do
  --+ own_leases
  for _, lease in ipairs(own) do
    local i, place = lease.block, lease.place
    local some = i > 0 and block_of(i) or tail
    some = sub(some, 1, place + 13) .. new_handle .. sub(some, place + LEASE_BYTES)
    if i > 0 then grow_block(i, some, 0) else tail = some end
  end
  applied = held > 0
end

--: cap_reservation_of_new_handle
-- If a reservation is committed this is left out: there is no other one of that handle.
do
  local handle = new_handle
  --+ cap_before_taking
end
