-- Window: the rule of fixed-window and request-window. One counter for the current window.
--
-- State, 21 bytes: the count, and the start and the end of its window.
--
-- Sections: see README.md. `window_numbers`, `window_now` and `charge_window` have one variant for each kind of window:
-- `aligned` (fixed-window of a plain length), `calendar` (fixed-window of a calendar unit) and `request`
-- (request-window); the assembler includes the one that the limit needs.
--
-- Expects, read only:
-- luacheck: read globals args at unpack pack
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject allowed debt_too_large applied
-- Expects, in the sections about reservations:
-- luacheck: read globals taken_at settled_at unspent
-- Placeholders (see README.md):
-- luacheck: read globals BODY ARGUMENT WANTED POSITION MAX_COUNT WINDOWS_NEEDED
-- BODY stands for several values.
-- luacheck: ignore 532

--: load
--+ window_numbers
local count, window_start, window_end = 0, at, at
local live, reset_at, now = false, 0, at
if limit.body_at then
  count, window_start, window_end = BODY
  live = at < window_end
  if not live then
    count = 0
  else
    reset_at = window_end
    if window_start > now then now = window_start end
  end
end

--: window_numbers aligned
local cost, capacity, length = unpack('<I4I4I7', args, ARGUMENT)

--: window_numbers request
--+ window_numbers aligned

--: window_numbers calendar
local cost, capacity = unpack('<I4I4', args, ARGUMENT)

--: fits
if count + WANTED > capacity then allowed = false end

--: window_now aligned
-- All variants define `new_start` and `new_end`: the window that `now` falls into.
local new_start = now - now % length
local new_end = new_start + length

--: window_now calendar
-- The client sends three windows around its own time. If `now` lies outside, nothing is done, and the
-- client calls again with the windows around `now`.
local first, second, third, past = unpack('<I7I7I7I7', args, ARGUMENT + 8)
if now < first or now >= past then return pack('<BI7B', WINDOWS_NEEDED, now, POSITION) end
local new_start, new_end = second, third
if now < second then new_start, new_end = first, second elseif now >= third then new_start, new_end = third, past end

--: window_now request
local new_start = now
if live and now < window_start + length then new_start = window_start end
local new_end = new_start + length

--: take
do
  --+ window_now
  count, window_start, window_end, live = count + cost, new_start, new_end, true
end

--: check_debt
debt_too_large = count > MAX_COUNT

--: give
count = count - cost
if count <= 0 then count, live = 0, false end

--: refundable
-- luacheck: globals refundable
refundable = live and window_start <= taken_at and taken_at < window_end and count or 0

--: refundable_of_group
-- luacheck: read globals oldest newest
-- luacheck: globals least same
if not live or newest < window_start or oldest >= window_end then
  least, same = 0, true
elseif oldest >= window_start and newest < window_end then
  least, same = count, true
end

--: still_counted
-- luacheck: globals least converts
-- What is counted in a window is only lost with the window, unless the window becomes another one.
do
  --+ window_now
  if live and window_start == new_start and window_end == new_end then
    least = MAX_COUNT
  elseif live then
    converts = 1
  end
end

--: overlap
-- luacheck: globals overlap
overlap = unspent

--: charge_window aligned
--+ charge_window fixed

--: charge_window calendar
--+ charge_window fixed

--: charge_window fixed
-- All variants define `charged_at`, and set `applied` if the window of the reservation is still open.
local charged_at = now
do
  --+ window_now
  applied = new_start <= settled_at
end

--: charge_window request
applied = now < settled_at + length
-- A window that was closed since opens again at the instant of the reservation.
local charged_at = live and now or settled_at

--: charge_at
do
  --+ charge_window
  if applied then
    local now = charged_at
    --+ take
    --+ check_debt
  end
end

--: save
if live then
  limit.new_body, limit.new_expiry = pack('<I7I7I7', count, window_start, window_end), window_end
else
  limit.new_body, limit.new_expiry = false, 0
end
