-- Held: concurrency. The state: the leases from the one taken first, each with its end, its count, and
-- what it can be released under.

--: open
local K, ttl = unpack('<I4I7', a, $A)
local leases, live, ends, now, used = {}, false, 0, at, 0
if o$i then
  local place, past = o$i + 4, o$i + 4 + unpack('<I4', v$g, o$i)
  while place < past do
    local till, count, name
    till, count, name, place = unpack('<I7I7I2c0', v$g, place)
    leases[#leases + 1] = { till, count, name }
    if till > ends then ends = till end
    if now < till then used = used + count end
  end
  live = at < ends
  if not live then leases, ends = {}, 0 end
end

--: fits
if used + n > K then ok = false end

--: drop_ended
-- Drops the leases that have ended, or hold nothing.
do
  local kept = {}
  for _, lease in ipairs(leases) do
    if now < lease[1] and lease[2] > 0 then kept[#kept + 1] = lease end
  end
  leases, live = kept, #kept > 0
end

--: take
--+ drop_ended
leases[#leases + 1] = { now + ttl, n, handle }
used, live = used + n, true

--: owes
over = used > 4503599627370495

--: give
--+ drop_ended
do
  local left = n
  for j = #leases, 1, -1 do
    local lease = leases[j]
    local gone = lease[2] < left and lease[2] or left
    lease[2], left, used = lease[2] - gone, left - gone, used - gone
  end
end
--+ drop_ended

--: still
x = 0
for _, lease in ipairs(leases) do
  if now < lease[1] and lease[3] == note[5] then x = x + lease[2] end
end

--: lessens
x = 0

--: give_back
--+ drop_ended
do
  local left = n
  for j = #leases, 1, -1 do
    local lease = leases[j]
    if lease[3] == settled[5] then
      local gone = lease[2] < left and lease[2] or left
      lease[2], left, used = lease[2] - gone, left - gone, used - gone
    end
  end
end
--+ drop_ended
done = true

--: take_late
done = false
for j = #leases, 1, -1 do
  local lease = leases[j]
  if now < lease[1] and lease[3] == settled[5] then
    lease[2], done = lease[2] + n, true
    break
  end
end
if done then
  --+ drop_ended
elseif now < settled[1] + ttl then
  --+ drop_ended
  leases[#leases + 1], done, live = { settled[1] + ttl, n, settled[5] }, true, true
end
used = used + n
over = done and used > 4503599627370495

--: release
done = false
for _, lease in ipairs(leases) do
  if now < lease[1] and lease[3] == handle then
    used, lease[2], done = used - lease[2], 0, true
  end
end
if done then
  --+ drop_ended
end

--: renew
-- Never sooner than it would have ended: a clock stepped back must not shorten a lease.
done = false
for _, lease in ipairs(leases) do
  if now < lease[1] and lease[3] == handle and lease[1] < now + ttl then
    lease[1], done = now + ttl, true
  end
end
if done then
  --+ drop_ended
end

--: rename
done = false
for _, lease in ipairs(leases) do
  if lease[3] == handle then lease[3], done = name, true end
end

--: save
if live then
  local out, last = {}, 0
  for j, lease in ipairs(leases) do
    out[j] = pack('<I7I7I2c0', lease[1], lease[2], #lease[3], lease[3])
    if lease[1] > last then last = lease[1] end
  end
  out = table.concat(out)
  b$i, y$i = pack('<I4', #out) .. out, last
else
  b$i, y$i = false, 0
end

--: tell
if live then
  local now, held, last, sum, when = t, {}, 0, 0, 0
  for _, lease in ipairs(leases) do
    if now < lease[1] then held[#held + 1], sum = lease, sum + lease[2] end
    if lease[1] > last then last = lease[1] end
  end
  if now < last then
    if sum + n > K and n <= K then
      table.sort(held, function(one, other) return one[1] < other[1] end)
      local left, j = sum, 0
      while left + n > K do
        j = j + 1
        left, when = left - held[j][2], held[j][1]
      end
    end
    told = pack('<I7I7I7', sum, when, last)
  end
end
