-- Flow: gcra and token-bucket. The state: the tick the bucket is empty, the rest in parts of a tick,
-- and the pace it was written under, ticks / parts for one unit.

--: open
-- Doubles are read in half the time, and only pass by.
local cw, cr, rw, rr, p, q = unpack('<dddddd', a, $A)
local e, f, p0, q0 = at, 0, p, q
local live, ends, now, muldiv = false, 0, at, nil
if o$i then
  e, f, p0, q0 = unpack('<I7I4I7I4', v$g, o$i)
  live = e > at or e == at and f > 0
  if not live then
    e, f, p0, q0 = at, 0, p, q
  else
    ends = f > 0 and e + 1 or e
    if p0 ~= p or q0 ~= q then
      --+ muldiv
      if rw >= 0 then rw, rr = muldiv(unpack('<d', a, $A + 48), p0, 0, q0) end
    end
  end
end

--: fits
local d = e - now
if not (d < rw or d == rw and f <= rr) then ok = false end

--: weigh
--+ muldiv
cw, cr = muldiv(n, p, 0, q)

--: take
if p0 ~= p or q0 ~= q then
  -- The same water at another pace, rounded up: what is used is never forgotten.
  local units, rest = muldiv(e - now, q0, f, p0)
  local more, left = muldiv(rest, p, 0, p0)
  if left > 0 then more = more + 1 end
  e, f = muldiv(units, p, more, q)
  e, p0, q0 = now + e, p, q
end
e, f, live = e + cw, f + cr, true
if f >= q then e, f = e + 1, f - q end

--: owes
local mw, mr = unpack('<dd', a, $A + 56)
over = e - now > mw or e - now == mw and f > mr

--: give
do
  local w, r = cw, cr
  if p0 ~= p or q0 ~= q then
    --+ muldiv
    w, r = muldiv(n, p0, 0, q0)
  end
  e, f = e - w, f - r
  if f < 0 then e, f = e - 1, f + q0 end
  live = e > now or e == now and f > 0
end

--: still
--+ muldiv
x = live and muldiv(e - now, q0, f, p0) or 0

--: lessens
x = less

--: save
if live then
  b$i, y$i = pack('<I7I4I7I4', e, f, p0, q0), f > 0 and e + 1 or e
else
  b$i, y$i = false, 0
end
