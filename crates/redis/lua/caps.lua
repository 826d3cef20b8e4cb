-- How much may be given back of open reservations: what is left of their rows is lowered, so that it is never more
-- than the state has counted at any time since.
--
-- What is known of each group (rows.lua) says of which groups the rows must be read. Where all rows of a group are to
-- be lowered alike, its bound or shift is changed and no row is read.
--
-- Sections:
--   define_walk         defines what `cap_before_taking` and `cap_refundable` call
--   cap_before_taking   before anything is taken
--   cap_refundable      after anything was given back
--   cap_after_settling  after a reservation was settled with less
--
-- Expects, read only:
-- luacheck: read globals settled_at settled_amount actual least
-- luacheck: read globals read_heads groups oldests newests takens_in lefts_in put_lefts i
-- Expects and assigns (`limit`: see README.md; `most`, `touched`: see reservations.lua):
-- luacheck: globals limit walk most touched converted bounds shifts

--: define_walk
-- No more can be given back of each reservation than the state still counts of it.
local function walk()
  read_heads()
  --+ begin_refundable
  local most_before = most
  most = 0
  for i = 1, groups do
    local oldest, newest, bound = oldests[i], newests[i], bounds[i]
    local least, same = 0, false
    --+ refundable_of_group
    if bound > least then
      if same then
        bound = least
      else
        --+ walk_group
      end
      if bound < bounds[i] then bounds[i], touched = bound, true end
    end
    if bound > most then most = bound end
  end
  if most < most_before then touched = true end
end

--: walk_group
-- luacheck: globals bound
do
  local lefts, takens, lowered = lefts_in(i), takens_in(i), false
  bound = 0
  for j, left in ipairs(lefts) do
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
  if lowered then put_lefts(i, lefts) end
end

--: refundable_if_less
--+ refundable

--: cap_before_taking
-- Where a rule knows that the state counts at least so much of each reservation, and what it does not count any more
-- it will never count again, nothing is capped.
do
  local least, converts = 0, 0
  --+ still_counted
  if converted == 1 then least = 0 end
  if most > least then walk() end
  -- What the conversion no longer counts is found by the next operation, as in memory.
  if converts ~= converted then converted, touched = converts, true end
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
  read_heads()
  --+ begin_overlap
  most, touched = 0, true
  for i = 1, groups do
    local oldest, newest, bound = oldests[i], newests[i], bounds[i]
    local overlap
    --+ overlap_of_group
    if bound > 0 and overlap ~= 0 and (newest > settled_at or bound > least_since) then
      if overlap and oldest > settled_at then
        shifts[i], bound = shifts[i] + overlap, bound > overlap and bound - overlap or 0
      elseif overlap and newest <= settled_at and bound - overlap <= least_since then
        bound = least_since
      else
        --+ cap_group
      end
      bounds[i] = bound
    end
    if bound > most then most = bound end
  end
end

--: cap_group
-- luacheck: read globals newest overlap unspent least_since
-- luacheck: globals bound
do
  local lefts, takens, same, lowered = lefts_in(i), takens_in(i), overlap, false
  bound = 0
  for j, left in ipairs(lefts) do
    if left > 0 then
      local taken_at, overlap = takens[j], same
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
  if lowered then put_lefts(i, lefts) end
end

--: overlap_of_group
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
