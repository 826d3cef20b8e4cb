-- Slots: sliding-log and sliding-counters. The state: how time was cut (the width of a slot, and how
-- long one counts), the total, how many bytes a count takes, and from the oldest on the start and
-- the count of every slot.

--: open
local L, w, l = unpack('<I4I7I7', a, $A)
-- How many bytes a count takes, and how a slot is written; naming that takes time, so it is done once.
local w0, l0, total, m, fmt, es = w, l, 0, 1, '<I7I1', ''
local live, ends, now, used = false, 0, at, 0
if o$i then
  local size
  size, w0, l0, total, m = unpack('<I4I7I7I7B', v$g, o$i)
  if m > 1 then fmt = '<I7I' .. m end
  es = sub(v$g, o$i + 26, o$i + 3 + size)
  local newest = unpack('<I7', es, #es - m - 6)
  ends = newest + l0
  live = at < ends
  if live then
    if newest > now then now = newest end
    --+ used
  else
    w0, l0, total, m, fmt, es, ends = w, l, 0, 1, '<I7I1', '', 0
  end
end

--: used
-- What counts at now.
used = total
do
  local place = 1
  local start, count = unpack(fmt, es, 1)
  while start + l0 <= now do
    used, place = used - count, place + 7 + m
    start, count = unpack(fmt, es, place)
  end
end

--: fits
if used + n > L then ok = false end

--: splice
-- Puts a slot in place of the bytes from one place to another; a count that is too long for the
-- others makes them all longer.
local function splice(from, to, start, count)
  local before, after = sub(es, 1, from - 1), sub(es, to)
  if count >= 256 ^ m then
    local wider, short = m, fmt
    while count >= 256 ^ wider do wider = wider + 1 end
    fmt = '<I7I' .. wider
    local longer = function(slots)
      local out = {}
      for place = 1, #slots, 7 + m do
        out[#out + 1] = pack(fmt, unpack(short, slots, place))
      end
      return table.concat(out)
    end
    before, after = longer(before), longer(after)
    m = wider
  end
  es = before .. (count > 0 and pack(fmt, start, count) or '') .. after
end

--: drop_past
-- Drops what can never count again: no decision is made before the newest slot began.
do
  local k = 7 + m
  local newest, place = unpack('<I7', es, #es - m - 6), 1
  local start, count = unpack(fmt, es, 1)
  while start + l0 <= newest do
    total, place = total - count, place + k
    start, count = unpack(fmt, es, place)
  end
  if place > 1 then es = sub(es, place) end
end

--: add
-- Adds to the slot that begins at `start`, wherever that is among the others.
do
  local k, place = 7 + m, #es + 1
  local to, sum = place, n
  while place > 1 do
    local begins, count = unpack(fmt, es, place - k)
    if begins <= start then
      if begins == start then place, sum = place - k, count + n end
      break
    end
    place, to = place - k, place - k
  end
  splice(place, to, start, sum)
  total = total + n
end

--: take
do
  --+ splice
  local start = now - now % w
  if live and w0 == w and l0 == l then
    --+ add
    --+ drop_past
  else
    w0, l0, total, m, fmt, es = w, l, used + n, 1, '<I7I1', ''
    splice(1, 1, start, total)
  end
  used, live = used + n, true
end

--: owes
over = used > $most_counted

--: tidy
live = used > 0
if live then
  --+ drop_past
end

--: give
do
  --+ splice
  local left = n < used and n or used
  used = used - left
  while left > 0 do
    local place = #es - m - 6
    local start, count = unpack(fmt, es, place)
    local gone = count < left and count or left
    splice(place, #es + 1, start, count - gone)
    left, total = left - gone, total - gone
  end
  --+ tidy
end

--: place
-- Where the slot lies that an instant falls into, and what it says.
local function find(instant)
  for place = #es - m - 6, 1, -7 - m do
    local start, count = unpack(fmt, es, place)
    if start <= instant then
      if instant < start + w0 then return place, start, count end
      return
    end
  end
end

--: still
do
  --+ place
  local _, start, count = find(note[1])
  x = live and start and now < start + l0 and count or 0
end

--: lessens
x = note[1] - note[1] % w == settled[1] - settled[1] % w and less or 0

--: give_back
do
  --+ splice
  --+ place
  local place, start, count = find(settled[1])
  if place then
    local gone = count < n and count or n
    splice(place, place + 7 + m, start, count - gone)
    total, used = total - gone, used - gone
  end
  --+ tidy
  done = true
end

--: take_late
do
  local start = settled[1] - settled[1] % w
  done = start + l > now
  if done and live and w0 == w and l0 == l then
    --+ splice
    --+ add
    --+ drop_past
    used = used + n
    --+ owes
  elseif done then
    local now = live and now or settled[1]
    --+ take
    --+ owes
  end
end

--: save
if live then
  b$i = pack('<I4I7I7I7B', 22 + #es, w0, l0, total, m) .. es
  y$i = unpack('<I7', es, #es - m - 6) + l0
else
  b$i, y$i = false, 0
end

--: tell
if live then
  local newest, now, used, when = unpack('<I7', es, #es - m - 6), t, 0, 0
  if newest > now then now = newest end
  if now < newest + l0 then
    --+ used
    if used + n > L and n <= L then
      local left, place = total, 1
      while left + n > L do
        local start, count = unpack(fmt, es, place)
        left, when, place = left - count, start + l0, place + 7 + m
      end
    end
    told = pack('<I7I7I7', used, when, newest + l0)
  end
end
