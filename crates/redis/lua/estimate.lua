-- Estimate: the rule of sliding-window. Counters of the current and the previous window.
--
-- State, 28 bytes: when the current window began, how long a window is, and the counts of the previous
-- window and of the current one.
--
-- Sections: see README.md. `choose_counter` is this rule's own.
--
-- Expects, read only:
-- luacheck: read globals args at unpack pack
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject allowed debt_too_large applied
-- Expects, in the sections about reservations:
-- luacheck: read globals settled_at unspent
-- Placeholders (see README.md):
-- luacheck: read globals BODY ARGUMENT WANTED MAX_COUNT MAX_SPAN
-- BODY stands for several values.
-- luacheck: ignore 532

--: load
local cost, capacity, length = unpack('<I4I4I7', args, ARGUMENT)
local window_start, old_length, previous, current = 0, length, 0, 0
local live, reset_at, now, muldiv = false, 0, at, nil
if limit.body_at then
  window_start, old_length, previous, current = BODY
  if old_length < 1 or old_length > MAX_SPAN then
    return redis.error_reply('TGSTATE a window that would never end')
  end
  reset_at = current > 0 and window_start + old_length + old_length or window_start + old_length
  live = at < reset_at
  if not live then
    previous, current, reset_at = 0, 0, 0
  else
    if window_start > now then now = window_start end
    if now >= window_start + old_length then
      window_start, previous, current = window_start + old_length, current, 0
    end
  end
end
local used = current
if previous > 0 then
  --+ muldiv
  used = current + muldiv(previous, window_start + old_length - now, old_length - 1, old_length)
end

--: fits
if used + WANTED > capacity then allowed = false end

--: take
if not live then
  window_start, old_length, previous, current = now - now % length, length, 0, 0
elseif old_length ~= length then
  window_start, old_length, previous, current = now - now % length, length, 0, used
end
current, live = current + cost, true

--: take_times
-- luacheck: read globals times
do
  local cost = times * cost
  --+ take
  used = used + cost
end

--: check_debt
debt_too_large = current > MAX_COUNT

--: give
if cost > current then
  previous, current = previous - (cost - current), 0
  if previous < 0 then previous = 0 end
else
  current = current - cost
end
live = previous > 0 or current > 0

--: choose_counter
-- luacheck: read globals taken_at
-- Which counter holds the instant of the reservation: 2 the current one, 1 the previous one, 0 neither.
local counter = 0
if taken_at >= window_start + old_length then counter = 0
elseif taken_at >= window_start then counter = 2
elseif taken_at + old_length >= window_start then counter = 1 end

--: refundable
-- luacheck: globals refundable
do
  --+ choose_counter
  refundable = live and (counter == 2 and current or counter == 1 and previous) or 0
end

--: refundable_of_group
-- luacheck: read globals oldest newest
-- luacheck: globals least same
if not live or newest + old_length < window_start or oldest >= window_start + old_length then
  least, same = 0, true
elseif oldest >= window_start and newest < window_start + old_length then
  least, same = current, true
elseif oldest + old_length >= window_start and newest < window_start then
  least, same = previous, true
end

--: still_counted
-- luacheck: globals least converts
-- What is counted in a window is only lost with the window, unless windows get another length.
if live and old_length == length then least = MAX_COUNT elseif live then converts = 1 end

--: overlap
-- luacheck: globals overlap
overlap = taken_at - taken_at % length == settled_at - settled_at % length
  and unspent or 0

--: overlap_of_group
-- luacheck: read globals oldest newest
do
  local start = settled_at - settled_at % length
  if newest < start or oldest >= start + length then
    overlap = 0
  elseif oldest >= start and newest < start + length then
    overlap = unspent
  end
end

--: give_back
do
  local taken_at = settled_at
  --+ choose_counter
  if counter == 2 then current = current > cost and current - cost or 0 end
  if counter == 1 then previous = previous > cost and previous - cost or 0 end
  live, applied = previous > 0 or current > 0, true
end

--: charge_at
do
  local taken_at = settled_at
  if not live then window_start, old_length, previous, current = now - now % length, length, 0, 0 end
  --+ choose_counter
  applied = counter > 0
  if counter == 2 then current = current + cost elseif counter == 1 then previous = previous + cost end
  debt_too_large = applied and (current > MAX_COUNT or previous > MAX_COUNT)
  if applied then live = true end
end

--: save
if live then
  limit.new_body, limit.new_expiry = pack('<I7I7I7I7', window_start, old_length, previous, current),
    current > 0 and window_start + old_length + old_length or window_start + old_length
else
  limit.new_body, limit.new_expiry = false, 0
end
