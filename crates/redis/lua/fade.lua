-- Fade: ar1. The state: the level, when the step it belongs to began, and how it fades: by what it is
-- divided, how often, and below what it is nothing. Doubles, with * / + only and in one order, so
-- that every store agrees to the last bit.

--: power
local function power(b, k)
  local p = 1
  while k > 0 do
    if k % 2 == 1 then p = p * b end
    b, k = b * b, floor(k / 2)
  end
  return p
end

--: after
-- What is left of a level after k steps.
local function after(level, k, d, least)
  if k == 1 then level = level / d elseif k > 1 then level = level / power(d, k) end
  return level < least and 0 or level
end

--: open
--+ power
--+ after
local M, d, r, least = unpack('<ddI7d', a, $A)
local level, s, d0, r0, least0 = 0, 0, d, r, least
local live, ends, now, was, since = false, 0, at, 0, 0
if o$i then
  level, s, d0, r0, least0 = unpack('<dI7dI7d', v$g, o$i)
  if not (d0 > 1 and r0 >= 1 and least0 > 0) then
    return redis.error_reply('TGSTATE a level that would never fade')
  end
  was, since = level, s
  if s > now then now = s end
  level = after(level, floor((now - s) / r0), d0, least0)
  live = level > 0
  if not live then level, now, d0, r0, least0 = 0, at, d, r, least end
end

--: ends
if live then
  --+ gone
end

--: gone
-- When a level that was written will have faded away: the logarithm is only a guess.
local k = math.ceil(math.log(was / least0) / math.log(d0))
while after(was, k, d0, least0) > 0 do k = k + 1 end
while k > 0 and after(was, k - 1, d0, least0) == 0 do k = k - 1 end
ends = since + k * r0

--: fits
if level + n > M then ok = false end

--: fill
-- The level at now, from now on fading by the numbers of this limit.
s, d0, r0, least0 = now - now % r, d, r, least
live = level >= least and level > 0

--: take
level = level + n
--+ fill

--: owes
if live then
  local was, since = level, s
  --+ gone
  over = level > $most_counted or ends - now > $longest
else
  over = level > $most_counted
end

--: sink
-- The level at now, still fading by its own numbers.
if level < 0 then level = 0 end
s = now - now % r0
live = level >= least0 and level > 0

--: give
level = level - n
--+ sink

--: steps
-- How often a level was divided between two instants.
local function steps(from, to, width)
  local k = (to - to % width - (from - from % width)) / width
  return k > 0 and k or 0
end

--: still
do
  --+ steps
  x = live and floor(level * power(d0, steps(note[1], now, r0))) or 0
end

--: lessens
do
  --+ steps
  x = less > 0 and math.ceil(less * power(d, steps(note[1], settled[1], r))) or 0
end

--: give_back
do
  --+ steps
  local faded = n / power(d0, steps(settled[1], now, r0))
  -- So long ago that it makes no difference to a double.
  done = level - faded ~= level
  if done then
    level = level - faded
    --+ sink
  end
end

--: take_late
do
  --+ steps
  -- What was taken first may have faded away by itself, but not with this on top.
  local late = live and n or n + settled[2]
  local level1 = level + late / power(d, steps(settled[1], now, r))
  done = level1 ~= level and level1 >= least
  if done then
    level = level1
    --+ fill
    --+ owes
  end
end

--: save
if live then
  local was, since = level, s
  --+ gone
  b$i, y$i = pack('<dI7dI7d', level, s, d0, r0, least0), ends
else
  b$i, y$i = false, 0
end
