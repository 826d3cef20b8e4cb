-- What each operation does to one limit. This is the same for every rule; the sections of the rule do
-- the counting.
--
-- Every `act NAME` section runs once for each limit. It leaves limit.new_body, limit.new_reservations and
-- limit.new_expiry for state.lua, clears `allowed` if the limit denies the operation or has nothing that it
-- acts on, and sets `changed` if it took or gave anything, or settled a reservation.
--
-- Sections included from the rule's own part (see README.md): load, fits, take, check_debt, save, give,
-- give_back, charge_at, refundable, overlap (and what they begin with), reset_at, summarize, and where the rule has
-- them convert_cost, release and renew (which say whether a lease was `found`), rename. From reservations.lua: the
-- open reservations.
-- `commit_reservation` is rename_reservation or drop_own_reservation, by the operation that is committed.
-- Sections of this file that others include: take_keeping_reservations, old_expiry, summarize_old,
-- summarize_new, reload_and_summarize; give_back and charge_at where the rule has none of its own.
--
-- Expects, read only (`live` to `refundable` come from the included sections):
-- luacheck: read globals time cost pack unpack spread
-- luacheck: read globals live reset_at refundable find_row row_of left_of remove_row read_heads
-- Expects and assigns (`limit`: see README.md):
-- luacheck: globals limit allowed changed overdrawn applied open groups most converted apart group_ids
-- Placeholders (see README.md):
-- luacheck: read globals TAKES COUNT_DENIED OVERDRAWN LAST

--: act peek
do
  local at = time
  --+ load
  --+ fits
  --+ summarize_old
end

--: act check
do
  local at = time
  --+ load
  --+ fits
  --+ old_expiry
  --+ summarize_untaken
  if allowed and TAKES then
    --+ take_keeping_reservations
    --+ summarize_new
    changed = true
  end
end

--: act check count-denied
do
  local at = time
  --+ load
  --+ fits
  --+ old_expiry
  --+ summarize_old
  if TAKES then
    --+ hold_if_allowed
    --+ take_keeping_reservations
    local debt_too_large
    --+ check_debt
    if debt_too_large then overdrawn = true end
    --+ summarize_new
    changed = true
  end
end

--: take_keeping_reservations
if limit.reservations_at then
  --+ open_reservations
  --+ define_rows
  --+ define_walk
  --+ cap_before_taking
  --+ drop_expired_reservations
  --+ take
  --+ save
  --+ save_reservations
else
  --+ take
  --+ save
end

--: act charge
do
  local at, debt_too_large = time, false
  --+ load
  --+ old_expiry
  if TAKES then
    --+ take_keeping_reservations
    --+ check_debt
    if debt_too_large then return pack('<BI7', OVERDRAWN, time) end
    changed = true
  end
  --+ summarize_new
end

--: act reserve
do
  local at = time
  --+ load
  --+ fits
  --+ old_expiry
  --+ summarize_old
  if allowed or COUNT_DENIED then
    --+ open_reservations
    --+ define_rows
    --+ define_walk
    if cost > 0 then
      local debt_too_large
      --+ hold_if_allowed
      --+ cap_before_taking
      --+ drop_expired_reservations
      --+ take
      --+ check_debt
      --+ save
      if debt_too_large then overdrawn = true end
      changed = true
    end
    if allowed and TAKES then
      --+ add_reservation
    end
    if allowed and TAKES or cost > 0 then
      --+ save_reservations
    end
    --+ summarize_new
  end
end

--: act refund
do
  local at = time
  --+ load
  --+ old_expiry
  if live and TAKES then
    --+ open_reservations
    --+ define_rows
    --+ define_walk
    --+ drop_expired_reservations
    if converted == 1 then
      --+ cap_before_taking
    end
    --+ give
    --+ cap_refundable
    --+ save
    --+ save_reservations
    changed = true
  end
  --+ summarize_new
end

--: act reset
do
  local at = time
  --+ load
  if live then changed = true end
end

--: act settle
-- luacheck: read globals handle
do
  --+ open_reservations
  --+ define_rows
  local settled, settled_at, settled_amount, settled_left = false, 0, 0, 0
  local settled_group, settled_row = find_row(handle)
  if settled_group then
    local expires_at, _
    settled_at, expires_at, _, settled_amount = row_of(settled_group, settled_row)
    settled_left, settled = left_of(settled_group, settled_row), time < expires_at
  end
  local at = time
  -- If the clock was stepped back, the operation is settled at the instant it was reserved, not before.
  if settled and settled_at > at then at = settled_at end
  --+ load
  --+ old_expiry
  local applied = false
  if settled then
    --+ define_walk
    local before = { open, groups, most, converted }
    remove_row(settled_group, settled_row)
    local actual, debt_too_large, least, capped = cost, false, 0, false
    if actual > settled_amount then
      local cost = actual - settled_amount
      capped = true
      --+ cap_before_taking
      --+ convert_cost
      --+ charge_at
      if debt_too_large then return pack('<BI7', OVERDRAWN, time) end
    else
      local taken_at, cost, refundable = settled_at, settled_amount - actual, 0
      --+ refundable_of_one
      least = settled_left < refundable and settled_left or refundable
      if least < cost then cost = least end
      if cost > 0 then
        capped = true
        --+ cap_before_taking
        --+ convert_cost
        --+ give_back
      end
    end
    if applied then
      --+ drop_expired_reservations
    elseif capped then
      -- Nothing was taken or given, so that nothing is capped but what follows.
      apart.parts, apart.changed, group_ids = {}, {}, nil
      open, groups, most, converted = spread(before)
      read_heads()
      remove_row(settled_group, settled_row)
    end
    changed = true
    --+ cap_after_settling
    if applied then
      --+ cap_refundable
      --+ save
    end
    --+ save_reservations
  else
    allowed = false
  end
  if applied then
    --+ summarize_new
  else
    --+ reload_and_summarize
  end
end

--: old_expiry
--+ reset_at
limit.old_expiry = reset_at

--: reload_and_summarize
do
  local at = time
  --+ load
  --+ old_expiry
  if limit.new_reservations ~= nil and reset_at > limit.new_expiry then limit.new_expiry = reset_at end
  --+ summarize_new
end

--: summarize_old
do
  local summary
  --+ summarize
  limit.old_summary, limit.new_summary = summary, summary
end

--: summarize_untaken
-- What the last limit allows is taken.
if not (LAST and allowed and TAKES) then
  --+ summarize_old
end

--: summarize_new
do
  local summary
  --+ summarize
  limit.new_summary = summary
end

--: act release
-- The reservations are kept after all if no limit had a lease (src/script/assemble.rs).
do
  --+ open_reservations
  --+ define_rows
  local removed, applied, found = false, false, true
  --+ drop_own_reservation
  local at = time
  --+ load
  --+ old_expiry
  --+ release
  if applied then
    --+ drop_expired_reservations
    --+ save
    changed = true
  end
  if removed or applied then
    --+ save_reservations
  end
  if not found then allowed = false end
  --+ summarize_new
end

--: act renew
-- What it leaves is dropped if one limit had no lease (src/script/assemble.rs).
do
  local at, applied, found = time, false, true
  --+ load
  --+ old_expiry
  --+ summarize_old
  --+ renew
  if applied then
    --+ open_reservations
    --+ define_rows
    --+ drop_expired_reservations
    --+ save
    --+ save_reservations
  end
  if not found then allowed = false end
  --+ summarize_new
end

--: act commit
-- What src/cross_slot.rs reserved under a handle of its own now belongs to the caller's handle.
do
  --+ open_reservations
  --+ define_rows
  local removed, applied = false, false
  --+ commit_reservation
  local at = time
  --+ load
  --+ old_expiry
  if live then
    --+ rename
  end
  if applied then
    --+ save
  end
  if removed or applied then
    --+ save_reservations
  end
  --+ summarize_new
end

--: give_back
--+ give
applied = true

--: charge_at
--+ take
--+ check_debt
applied = true
