-- Drip: leaky-bucket, token-bucket whole, and legacy. The state: the level, when the last drop fell,
-- and the leak it was written under, so much so often.

--: open
local S, D, R = unpack('<I4I4I7', a, $A)
local c, s, D0, R0 = 0, at, D, R
local live, ends, now = false, 0, at
if o$i then
  c, s, D0, R0 = unpack('<I7I7I4I7', v$g, o$i)
  ends = s + floor((c + D0 - 1) / D0) * R0
  live = at < ends
  if not live then
    c, s, D0, R0, ends = 0, at, D, R, 0
  else
    if s > now then now = s end
    local drops = floor((now - s) / R0)
    c, s = c - drops * D0, s + drops * R0
  end
end

--: fits
if c + n > S then ok = false end

--: take
if not live then
  c, s = 0, now
elseif R0 ~= R then
  -- The share of the way to the next drop is kept.
  local muldiv
  --+ muldiv
  s = now - muldiv(now - s, R, 0, R0)
  if s < 0 then s = 0 end
end
c, D0, R0, live = c + n, D, R, true

--: owes
over = c > $most_counted or s + floor((c + D - 1) / D) * R - now > $longest

--: give
c = c - n
if c <= 0 then c, live = 0, false end

--: still
x = c

--: lessens
x = less

--: save
if live then
  b$i, y$i = pack('<I7I7I4I7', c, s, D0, R0), s + floor((c + D0 - 1) / D0) * R0
else
  b$i, y$i = false, 0
end
