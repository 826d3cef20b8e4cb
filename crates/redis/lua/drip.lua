-- Drip: the rule of leaky-bucket, token-bucket whole, and legacy. A bucket that drains in drops.
--
-- State, 25 bytes: the level, when the last drop fell, and the leak it was written under: so many
-- units with each drop, one drop per interval.
--
-- Sections: see README.md.
--
-- Expects, read only:
-- luacheck: read globals args at unpack pack
-- Expects and assigns (`limit` and `subject`: see README.md):
-- luacheck: globals limit subject allowed debt_too_large
-- Placeholders (see README.md):
-- luacheck: read globals BODY ARGUMENT WANTED MAX_COUNT MAX_SPAN
-- BODY stands for several values.
-- luacheck: ignore 532

--: load
local cost, size, drop, interval = unpack('<I4I4I4I7', args, ARGUMENT)
local level, dropped_at, old_drop, old_interval = 0, at, drop, interval
local live, reset_at, now = false, 0, at
if limit.body_at then
  level, dropped_at, old_drop, old_interval = BODY
  if old_drop < 1 or old_interval < 1 or old_interval > MAX_SPAN then
    return redis.error_reply('TGSTATE a bucket that would never drain')
  end
  reset_at = dropped_at + math.floor((level + old_drop - 1) / old_drop) * old_interval
  live = at < reset_at
  if not live then
    level, dropped_at, old_drop, old_interval, reset_at = 0, at, drop, interval, 0
  else
    if dropped_at > now then now = dropped_at end
    local drops = math.floor((now - dropped_at) / old_interval)
    level, dropped_at = level - drops * old_drop, dropped_at + drops * old_interval
  end
end

--: fits
if level + WANTED > size then allowed = false end

--: take
if not live then
  level, dropped_at = 0, now
elseif old_interval ~= interval then
  -- Under a new interval the state keeps its share of the way to the next drop.
  local muldiv
  --+ muldiv
  dropped_at = now - muldiv(now - dropped_at, interval, 0, old_interval)
  if dropped_at < 0 then dropped_at = 0 end
end
level, old_drop, old_interval, live = level + cost, drop, interval, true

--: check_debt
debt_too_large = level > MAX_COUNT or dropped_at + math.floor((level + drop - 1) / drop) * interval - now > MAX_SPAN

--: give
level = level - cost
if level <= 0 then level, live = 0, false end

--: refundable
-- luacheck: globals refundable
refundable = level

--: least_refundable
-- luacheck: globals least
least = level

--: refundable_of_group
-- luacheck: globals least same
least, same = level, true

--: overlap
-- luacheck: globals overlap unspent
overlap = unspent

--: save
if live then
  limit.new_body, limit.new_expiry = pack('<I7I7I4I7', level, dropped_at, old_drop, old_interval),
    dropped_at + math.floor((level + old_drop - 1) / old_drop) * old_interval
else
  limit.new_body, limit.new_expiry = false, 0
end
