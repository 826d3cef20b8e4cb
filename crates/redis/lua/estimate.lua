-- Estimate: sliding-window. The state: when this window began, how long a window is, and what was
-- counted in the last one and in this.

--: open
local L, W = unpack('<I4I7', a, $A)
local s, w, last, c = 0, W, 0, 0
local live, ends, now, muldiv = false, 0, at, nil
if o$i then
  s, w, last, c = unpack('<I7I7I7I7', v$g, o$i)
  ends = c > 0 and s + w + w or s + w
  live = at < ends
  if not live then
    last, c, ends = 0, 0, 0
  else
    if s > now then now = s end
    if now >= s + w then s, last, c = s + w, c, 0 end
  end
end
local used = c
if last > 0 then
  --+ muldiv
  used = c + muldiv(last, s + w - now, w - 1, w)
end

--: fits
if used + n > L then ok = false end

--: take
if not live then
  s, w, last, c = now - now % W, W, 0, 0
elseif w ~= W then
  s, w, last, c = now - now % W, W, 0, used
end
c, live = c + n, true

--: owes
over = c > $most_counted

--: give
if n > c then
  last, c = last - (n - c), 0
  if last < 0 then last = 0 end
else
  c = c - n
end
live = last > 0 or c > 0

--: counter
-- Which counter holds the instant of the note: 2 this window's, 1 the last one's, 0 none.
local counter = 0
if note[1] >= s + w then counter = 0
elseif note[1] >= s then counter = 2
elseif note[1] + w >= s then counter = 1 end

--: still
do
  --+ counter
  x = live and (counter == 2 and c or counter == 1 and last) or 0
end

--: lessens
x = note[1] - note[1] % W == settled[1] - settled[1] % W and less or 0

--: give_back
do
  local note = settled
  --+ counter
  if counter == 2 then c = c > n and c - n or 0 end
  if counter == 1 then last = last > n and last - n or 0 end
  live, done = last > 0 or c > 0, true
end

--: take_late
do
  local note = settled
  if not live then s, w, last, c = now - now % W, W, 0, 0 end
  --+ counter
  done = counter > 0
  if counter == 2 then c = c + n elseif counter == 1 then last = last + n end
  over = done and (c > $most_counted or last > $most_counted)
  if done then live = true end
end

--: save
if live then
  b$i, y$i = pack('<I7I7I7I7', s, w, last, c), c > 0 and s + w + w or s + w
else
  b$i, y$i = false, 0
end
