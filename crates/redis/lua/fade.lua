-- Fade: the rule of ar1. A level that is divided by a constant at every step.
--
-- State, 38 bytes: the level, when the step it belongs to began, and how it fades: the divisor
-- (`decay`), the length of a step, and the level below which it counts as 0 (`minimum`).
--
-- All amounts are doubles, computed with * / + only and in one order, so that every store agrees to the
-- last bit.
--
-- Sections: see README.md. This rule's own: `power`, `fade` and `steps_between` define functions;
-- `faded_at` computes when a level will be 0; `adopt_terms` and `keep_terms` bring the level to the step of `now`.
--
-- Expects, read only:
-- luacheck: read globals args at unpack pack
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject allowed debt_too_large applied
-- Expects, in the sections about reservations:
-- luacheck: read globals taken_at settled_at settled_amount unspent
-- Placeholders (see README.md):
-- luacheck: read globals BODY ARGUMENT MAX_COUNT MAX_SPAN
-- BODY stands for several values.
-- luacheck: ignore 532
-- luacheck: read globals MIN_DECAY MAX_DECAY MIN_MINIMUM MAX_MINIMUM

--: power
local function power(base, exponent)
  local product = 1
  while exponent > 0 do
    if exponent % 2 == 1 then product = product * base end
    base, exponent = base * base, math.floor(exponent / 2)
  end
  return product
end

--: fade
-- What is left of a level after some steps.
local function fade(level, steps, decay, minimum)
  if steps == 1 then level = level / decay elseif steps > 1 then level = level / power(decay, steps) end
  return level < minimum and 0 or level
end

--: load
--+ power
--+ fade
local cost, max, decay, step, minimum = unpack('<I4ddI7d', args, ARGUMENT)
local level, step_start, old_decay, old_step, old_minimum = 0, 0, decay, step, minimum
local live, reset_at, now, written_level, written_at = false, 0, at, 0, 0
if limit.body_at then
  level, step_start, old_decay, old_step, old_minimum = BODY
  -- Also if one of them is no number: nothing is true of it.
  if not (level >= 0 and level <= MAX_COUNT and old_decay >= MIN_DECAY and old_decay <= MAX_DECAY
    and old_step >= 1 and old_minimum >= MIN_MINIMUM and old_minimum <= MAX_MINIMUM) then
    return redis.error_reply('TGSTATE a level that would never fade')
  end
  written_level, written_at = level, step_start
  if step_start > now then now = step_start end
  level = fade(level, math.floor((now - step_start) / old_step), old_decay, old_minimum)
  live = level > 0
  if not live then level, now, old_decay, old_step, old_minimum = 0, at, decay, step, minimum end
end

--: reset_at
if live then
  --+ faded_at
end

--: faded_at
-- When a level that was written will have faded away. The logarithm is only a first guess.
local steps = math.ceil(math.log(written_level / old_minimum) / math.log(old_decay))
while fade(written_level, steps, old_decay, old_minimum) > 0 do steps = steps + 1 end
while steps > 0 and fade(written_level, steps - 1, old_decay, old_minimum) == 0 do steps = steps - 1 end
reset_at = written_at + steps * old_step

--: fits
if level + cost > max then allowed = false end

--: fits_times
-- luacheck: read globals times
-- Added one by one, as separate checks would, since doubles may round the sum otherwise.
do
  local level = level
  for _ = 1, times do level = level + cost end
  if level > max then allowed = false end
end

--: take_times
for _ = 1, times do level = level + cost end
--+ adopt_terms

--: adopt_terms
-- The level at `now`, from now on fading by the numbers of this limit.
step_start, old_decay, old_step, old_minimum = now - now % step, decay, step, minimum
live = level >= minimum and level > 0

--: take
level = level + cost
--+ adopt_terms

--: check_debt
if live then
  local written_level, written_at = level, step_start
  --+ faded_at
  debt_too_large = level > MAX_COUNT or reset_at - now > MAX_SPAN
else
  debt_too_large = level > MAX_COUNT
end

--: keep_terms
-- The level at `now`, still fading by the numbers it was written under.
if level < 0 then level = 0 end
step_start = now - now % old_step
live = level >= old_minimum and level > 0

--: give
level = level - cost
--+ keep_terms

--: steps_between
-- How often a level was divided between two instants.
local function steps_between(from, to, length)
  local steps = (to - to % length - (from - from % length)) / length
  return steps > 0 and steps or 0
end

--: begin_refundable
--+ steps_between
local known_steps, known_refundable = nil, 0

--: refundable
-- luacheck: globals refundable known_steps known_refundable
-- Many were taken in the same step.
do
  local steps = steps_between(taken_at, now, old_step)
  if steps ~= known_steps then
    known_steps, known_refundable = steps, live and math.floor(level * power(old_decay, steps)) or 0
  end
  refundable = known_refundable
end

--: refundable_of_group
-- luacheck: read globals oldest newest
-- luacheck: globals least same
-- The longer ago it was taken, the more it was then.
do
  local taken_at, refundable = newest, 0
  --+ refundable
  least, taken_at = refundable, oldest
  --+ refundable
  same = refundable == least
end

--: begin_overlap
--+ steps_between
local known_steps, known_overlap = nil, 0

--: overlap
-- luacheck: globals overlap known_steps known_overlap
-- Many were taken in the same step.
do
  local steps = steps_between(taken_at, settled_at, step)
  if steps ~= known_steps then
    known_steps, known_overlap = steps, math.ceil(unspent * power(decay, steps))
  end
  overlap = known_overlap
end

--: give_back
do
  --+ steps_between
  local faded = cost / power(old_decay, steps_between(settled_at, now, old_step))
  -- After a long time it is too little to change a double.
  applied = level - faded ~= level
  if applied then
    level = level - faded
    --+ keep_terms
  end
end

--: charge_at
do
  --+ steps_between
  -- The reserved amount may have faded away by itself; together with this one it would not have.
  local added = live and cost or cost + settled_amount
  local new_level = level + added / power(decay, steps_between(settled_at, now, step))
  applied = new_level ~= level and new_level >= minimum
  if applied then
    level = new_level
    --+ adopt_terms
    --+ check_debt
  end
end

--: save
if live then
  local written_level, written_at = level, step_start
  --+ faded_at
  limit.new_body, limit.new_expiry = pack('<dI7dI7d', level, step_start, old_decay, old_step, old_minimum), reset_at
else
  limit.new_body, limit.new_expiry = false, 0
end
