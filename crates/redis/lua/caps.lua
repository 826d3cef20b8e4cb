-- How much may be given back of open reservations: what is left of their rows is lowered, so that it is never more
-- than the state has counted at any time since.
--
-- The numbers about the parts (rows.lua) say of which parts the rows must be read. Where all rows of a part are to be
-- lowered alike, these numbers are lowered and no row is read.
--
-- Sections:
--   define_walk         defines what `cap_before_taking` and `cap_refundable` call
--   cap_before_taking   before anything is taken
--   cap_refundable      after anything was given back
--   cap_after_settling  after a reservation was settled with less
--
-- Expects, read only:
-- luacheck: read globals settled_at settled_amount actual least
-- luacheck: read globals numbers_in read_heads put_heads lefts_in put_lefts narrow
-- Expects and assigns (`limit`: see README.md; `most`, `touched`: see reservations.lua):
-- luacheck: globals limit walk most touched

--: define_walk
-- No more can be given back of each reservation than the state still counts of it.
local function walk()
  --+ begin_refundable
  local heads, parts = read_heads()
  local most_before, changed = most, false
  most = 0
  for number = 1, parts do
    local oldest, newest, bound = heads[number * 4 - 3], heads[number * 4 - 2], heads[number * 4 - 1]
    local least, same = 0, false
    --+ refundable_of_part
    if bound > least then
      if same then
        bound = least
      else
        --+ walk_part
      end
      heads[number * 4 - 1], changed = bound, true
    end
    if bound > most then most = bound end
  end
  if changed then put_heads(heads, parts) end
  if most < most_before then touched = true end
end

--: walk_part
-- luacheck: read globals number heads
-- luacheck: globals bound
do
  local lefts, rows_here = lefts_in(heads, number)
  local takens, lowered = numbers_in('t', number), false
  narrow(heads, number, takens, rows_here)
  bound = 0
  for j = 1, rows_here do
    local left = lefts[j]
    if left > 0 then
      local taken_at, refundable = takens[j], left
      --+ refundable_if_less
      if refundable < left then
        left, lowered = refundable, true
        lefts[j] = left
      end
      if left > bound then bound = left end
    end
  end
  if lowered then put_lefts(heads, number, lefts, rows_here) end
end

--: refundable_if_less
--+ refundable

--: cap_before_taking
-- Where a rule knows that the state counts at least so much of each reservation, and what it does not count any more
-- it will never count again, nothing is capped.
do
  local least = 0
  --+ still_counted
  if most > least then walk() end
end

--: still_counted
--+ least_refundable

--: cap_refundable
do
  local least = 0
  --+ least_refundable
  if most > least then walk() end
end

--: cap_after_settling
-- The other reservations are as if this one had taken only `actual`: what could be given back of them is less
-- by the rest, but not less than the least that was there since this one was taken.
if settled_amount > actual and most > 0 then
  local unspent = settled_amount - actual
  local least_since = least > unspent and least - unspent or 0
  --+ begin_overlap
  local heads, parts = read_heads()
  most, touched = 0, true
  for number = 1, parts do
    local oldest, newest, bound = heads[number * 4 - 3], heads[number * 4 - 2], heads[number * 4 - 1]
    local overlap
    --+ overlap_of_part
    if bound > 0 and overlap ~= 0 and (newest > settled_at or bound > least_since) then
      if overlap and oldest > settled_at then
        heads[number * 4], bound = heads[number * 4] + overlap, bound > overlap and bound - overlap or 0
      elseif overlap and newest <= settled_at and bound - overlap <= least_since then
        bound = least_since
      else
        --+ cap_part
      end
      heads[number * 4 - 1] = bound
    end
    if bound > most then most = bound end
  end
  put_heads(heads, parts)
end

--: cap_part
-- luacheck: read globals number heads oldest newest overlap unspent least_since
-- luacheck: globals bound
do
  local lefts, rows_here = lefts_in(heads, number)
  local same, lowered, takens = overlap, false, nil
  -- Where all rows are to be treated alike, it does not matter when each of them was taken.
  if not same or oldest <= settled_at and newest > settled_at then
    takens = numbers_in('t', number)
    narrow(heads, number, takens, rows_here)
  end
  bound = 0
  for j = 1, rows_here do
    local left = lefts[j]
    if left > 0 then
      local taken_at, overlap = takens and takens[j] or newest, same
      if not same then
        --+ overlap
      end
      local capped = left > overlap and left - overlap or 0
      if taken_at <= settled_at and least_since > capped then capped = least_since end
      if capped < left then
        left, lowered = capped, true
        lefts[j] = left
      end
      if left > bound then bound = left end
    end
  end
  if lowered then put_lefts(heads, number, lefts, rows_here) end
end

--: overlap_of_part
-- luacheck: read globals oldest newest
-- luacheck: globals overlap
-- What is true of the oldest and of the newest is true of all.
do
  local taken_at, of_oldest = oldest, nil
  --+ overlap
  of_oldest, taken_at = overlap, newest
  --+ overlap
  if overlap ~= of_oldest then overlap = nil end
end
