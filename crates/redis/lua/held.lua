-- Held: concurrency. The state: how many are held in all, when the first lease ends and when the last,
-- whether they end in the order in which they were taken, and each lease with its end, its count and
-- what it can be released under. While none has ended they need not be looked at one by one.

--: open
local K, ttl = unpack('<I4I7', a, $A)
local size, total, first, sorted, added, leases = 22, 0, 0, 1, '', nil
local live, ends, now, used = false, 0, at, 0
if o$i then
  size, total, first, ends, sorted = unpack('<I4I7I7I7B', v$g, o$i)
  live = at < ends
  if not live then
    size, total, first, ends, sorted = 22, 0, 0, 0, 1
  else
    used = total
    if first <= now then
      --+ parse
      used = 0
      for _, lease in ipairs(leases) do
        if now < lease[1] then used = used + lease[2] end
      end
    end
  end
end

--: parse
if not leases then
  leases = {}
  local all, place = (size > 22 and sub(v$g, o$i + 26, o$i + 3 + size) or '') .. added, 1
  while place <= #all do
    local lease = {}
    lease[1], lease[2], lease[3], place = unpack('<I7I7I2c0', all, place)
    leases[#leases + 1] = lease
  end
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
do
  local till = now + ttl
  if leases then
    --+ drop_ended
    leases[#leases + 1] = { till, n, handle }
  else
    added = added .. pack('<I7I7I2c0', till, n, #handle, handle)
    if total == 0 or till < first then first = till end
    if till < ends then sorted = 0 else ends = till end
    total = total + n
  end
  used, live = used + n, true
end

--: owes
over = used > $most_counted

--: end_newest
-- Ends up to n of the leases, the newest first; only those under a handle, if that is said.
--+ parse
--+ drop_ended
do
  local left = n
  for j = #leases, 1, -1 do
    local lease = leases[j]
    if not only or lease[3] == only then
      local gone = lease[2] < left and lease[2] or left
      lease[2], left, used = lease[2] - gone, left - gone, used - gone
    end
  end
end
--+ drop_ended

--: give
do
  local only
  --+ end_newest
end

--: still
x = 0
--+ parse
for _, lease in ipairs(leases) do
  if now < lease[1] and lease[3] == note[5] then x = x + lease[2] end
end

--: lessens
x = 0

--: give_back
do
  local only = settled[5]
  --+ end_newest
end
done = true

--: take_late
done = false
--+ parse
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
over = done and used > $most_counted

--: release
done = false
--+ parse
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
--+ parse
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
--+ parse
for _, lease in ipairs(leases) do
  if lease[3] == handle then lease[3], done = name, true end
end

--: save
if not live then
  b$i, y$i = false, 0
else
  local all = added
  if leases then
    local out = {}
    total, first, ends, sorted = 0, leases[1][1], 0, 1
    for j, lease in ipairs(leases) do
      out[j] = pack('<I7I7I2c0', lease[1], lease[2], #lease[3], lease[3])
      total = total + lease[2]
      if lease[1] < first then first = lease[1] end
      if lease[1] < ends then sorted = 0 else ends = lease[1] end
    end
    all = table.concat(out)
  elseif size > 22 then
    all = sub(v$g, o$i + 26, o$i + 3 + size) .. added
  end
  b$i, y$i = pack('<I4I7I7I7B', 22 + #all, total, first, ends, sorted) .. all, ends
end

--: tell
if live then
  local sum, last, when = total, ends, 0
  if leases then
    sum, last = 0, 0
    for _, lease in ipairs(leases) do
      if t < lease[1] then sum = sum + lease[2] end
      if lease[1] > last then last = lease[1] end
    end
  end
  if sum + n > K and n <= K then
    local left, place, past = sum, (o$i or 0) + 26, (o$i or 0) + 4 + size
    -- Those that end first come first, and few of them are enough.
    while not leases and sorted == 1 and left + n > K and place < past do
      local till, count, _
      till, count, _, place = unpack('<I7I7I2c0', v$g, place)
      left, when = left - count, till
    end
    if left + n > K then
      --+ parse
      local held, j = {}, 0
      for _, lease in ipairs(leases) do
        if t < lease[1] then held[#held + 1] = lease end
      end
      table.sort(held, function(one, other) return one[1] < other[1] end)
      left = sum
      while left + n > K do
        j = j + 1
        left, when = left - held[j][2], held[j][1]
      end
    end
  end
  if t < last then told = pack('<I7I7I7', sum, when, last) end
end
