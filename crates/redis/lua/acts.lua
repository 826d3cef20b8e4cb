-- What is done to one limit, act by act: what the laws say of every rule alike. `at` is when, `ok`
-- whether all limits have allowed it so far. The body that is left goes to b, its end to y, and the
-- notes to w: nil if it is as it was, false if there is none. x is the end of what was there.

--: act peek
do
  local at = t
  --+ open
  --+ fits
  --+ tell_as_is
end

--: act check
do
  local at = t
  --+ open
  --+ fits
  --+ old_end
  --+ tell_as_is
  if ok then
    --+ take_noted
    --+ tell_changed
  end
end

--: act check count-denied
do
  local at = t
  --+ open
  --+ fits
  --+ old_end
  --+ tell_as_is
  --+ take_noted
  local over
  --+ owes
  if over then overdrawn = true end
  --+ tell_changed
end

--: take_noted
if m$i then
  --+ open_notes
  --+ drop_past_notes
  --+ hold_notes
  --+ take
  --+ save
  --+ save_notes
else
  --+ take
  --+ save
end

--: act charge
do
  local at, over = t, false
  --+ open
  --+ take_noted
  --+ owes
  if over then return pack('<BI7', $overdrawn, t) end
  changed = true
  --+ tell_changed
end

--: act reserve
do
  local at = t
  --+ open
  --+ fits
  --+ old_end
  --+ tell_as_is
  if ok or $count_denied then
    --+ open_notes
    if n > 0 then
      local over
      --+ drop_past_notes
      --+ hold_notes
      --+ take
      --+ owes
      --+ save
      if over then overdrawn = true end
    end
    if ok then
      --+ add_note
    end
    if ok or n > 0 then
      --+ save_notes
    end
    --+ tell_changed
  end
end

--: act refund
do
  local at = t
  --+ open
  --+ old_end
  if live then
    --+ open_notes
    --+ drop_past_notes
    --+ hold_notes
    --+ give
    --+ hold_notes
    --+ save
    --+ save_notes
    changed = true
  end
  --+ tell_changed
end

--: act reset
do
  local at = t
  --+ open
  if live then changed = true end
end

--: act settle
do
  --+ open_notes
  local settled
  for j, note in ipairs(notes) do
    if note[5] == handle and t < note[4] then
      settled, notes[j] = note, notes[#notes]
      notes[#notes] = nil
      break
    end
  end
  local at = t
  -- A clock that was stepped back cannot have settled before it reserved.
  if settled and settled[1] > at then at = settled[1] end
  --+ open
  --+ old_end
  local done = false
  if settled then
    local before, _ = write_notes(notes)
    local actual, over = n, false
    --+ drop_past_notes
    --+ hold_notes
    if actual > settled[2] then
      local n = actual - settled[2]
      --+ weigh
      --+ take_late
      if over then return pack('<BI7', $overdrawn, t) end
    else
      local note, n, x = settled, settled[2] - actual, 0
      --+ still
      if settled[3] < n then n = settled[3] end
      if x < n then n = x end
      if n > 0 then
        --+ weigh
        --+ give_back
      end
    end
    if done then
      --+ hold_notes
      --+ save
      changed = true
    else
      notes = before and read_notes(before, 1) or {}
    end
    local less = settled[2] > actual and settled[2] - actual or 0
    for _, note in ipairs(notes) do
      local x
      --+ lessens
      note[3] = note[3] > x and note[3] - x or 0
    end
    --+ save_notes
  end
  if done then
    --+ tell_changed
  else
    --+ tell_again
  end
end

--: old_end
--+ ends
x$i = ends

--: tell_again
do
  local at = t
  --+ open
  --+ old_end
  if w$i ~= nil and ends > y$i then y$i = ends end
  --+ tell_changed
end

--: tell_as_is
do
  local told
  --+ tell
  T$i = told
end

--: tell_changed
do
  local told
  --+ tell
  U$i = told
end

--: act release
do
  --+ open_notes
  local gone, done = false, false
  --+ drop_own_note
  local at = t
  --+ open
  --+ old_end
  if live then
    --+ release
    if done then
      --+ drop_past_notes
      --+ hold_notes
      --+ save
      changed = true
    end
  end
  if gone or done then
    --+ save_notes
  end
  --+ tell_changed
end

--: act renew
do
  local at, done = t, false
  --+ open
  --+ old_end
  if live then
    --+ renew
    if done then
      --+ open_notes
      --+ drop_past_notes
      --+ save
      --+ save_notes
      changed = true
    end
  end
  --+ tell_changed
end

--: act close
-- What was reserved under a handle of our own stands as it is, under the caller's.
do
  --+ open_notes
  local gone, done = false, false
  --+ close_note
  local at = t
  --+ open
  --+ old_end
  if live then
    --+ rename
  end
  if done then
    --+ save
  end
  if gone or done then
    --+ save_notes
  end
  --+ tell_changed
end

--: give_back
--+ give
done = true

--: take_late
--+ take
--+ owes
done = true
