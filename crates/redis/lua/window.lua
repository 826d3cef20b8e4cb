-- Window: fixed-window and request-window. The state: the count, and the bounds of its window.

--: open
local L = unpack('<I4', a, $A)
local c, s, z = 0, at, at
local live, ends, now = false, 0, at
if o$i then
  c, s, z = unpack('<I7I7I7', v$g, o$i)
  live = at < z
  if not live then
    c = 0
  else
    ends = z
    if s > now then now = s end
  end
end

--: fits
if c + n > L then ok = false end

--: around aligned
local W = unpack('<I7', a, $A + 4)
local s1 = now - now % W
local z1 = s1 + W

--: around calendar
local c0, c1, c2, c3 = unpack('<I7I7I7I7', a, $A + 4)
if now < c0 or now >= c3 then return pack('<BI7B', $again, now, $position) end
local s1, z1 = c1, c2
if now < c1 then s1, z1 = c0, c1 elseif now >= c2 then s1, z1 = c2, c3 end

--: around request
local W = unpack('<I7', a, $A + 4)
local s1 = now
if live and now < s + W then s1 = s end
local z1 = s1 + W

--: take
do
  --+ around
  c, s, z, live = c + n, s1, z1, true
end

--: owes
over = c > $most_counted

--: give
c = c - n
if c <= 0 then c, live = 0, false end

--: still
x = live and s <= note[1] and note[1] < z and c or 0

--: lessens
x = less

--: late aligned
--+ late fixed

--: late calendar
--+ late fixed

--: late fixed
local opens = now
do
  --+ around
  done = s1 <= settled[1]
end

--: late request
done = now < settled[1] + unpack('<I7', a, $A + 4)
-- One that was closed since opens again when it did.
local opens = live and now or settled[1]

--: take_late
do
  --+ late
  if done then
    local now = opens
    --+ take
    --+ owes
  end
end

--: save
if live then
  b$i, y$i = pack('<I7I7I7', c, s, z), z
else
  b$i, y$i = false, 0
end
