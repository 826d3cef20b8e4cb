-- Open reservations: when, how much, the least there was since, until when, and under what.

--: read_notes
local function read_notes(v, place)
  local list, past = {}, place + 4 + unpack('<I4', v, place)
  place = place + 4
  while place < past do
    local note = {}
    note[1], note[2], note[3], note[4], note[5], place = unpack('<I7I4I7I7I2c0', v, place)
    list[#list + 1] = note
  end
  return list
end

--: write_notes
-- Nothing if there are none; and until when the last of them is kept.
local function write_notes(list)
  local out, till = {}, 0
  for j, note in ipairs(list) do
    out[j] = pack('<I7I4I7I7I2c0', note[1], note[2], note[3], note[4], #note[5], note[5])
    if note[4] > till then till = note[4] end
  end
  if #out == 0 then return false, 0 end
  out = table.concat(out)
  return pack('<I4', #out) .. out, till
end

--: open_notes
--+ read_notes
--+ write_notes
local notes = m$i and read_notes(v$g, m$i) or {}

--: drop_past_notes
do
  local kept = {}
  for _, note in ipairs(notes) do
    if t < note[4] then kept[#kept + 1] = note end
  end
  notes = kept
end

--: drop_own_note
-- Drops the note of this handle.
do
  local kept = {}
  for _, note in ipairs(notes) do
    if note[5] ~= handle then kept[#kept + 1] = note end
  end
  gone = #kept < #notes
  notes = kept
end

--: rename_note
-- Gives the note of this handle another name, in place of an older one of that name, and the time
-- that a reservation has.
for j = #notes, 1, -1 do
  if notes[j][5] == name then
    table.remove(notes, j)
    gone = true
  end
end
for _, note in ipairs(notes) do
  if note[5] == handle then note[5], note[4], gone = name, note[4] + $longer, true end
end

--: hold_notes
-- Holds every reservation to what is still there of it.
for _, note in ipairs(notes) do
  local x
  --+ still
  if x < note[3] then note[3] = x end
end

--: add_note
-- Notes what was reserved, also if that is nothing: it may be settled with more.
do
  local gone
  --+ drop_past_notes
  --+ drop_own_note
  if #notes >= $most_reserved then
    local oldest = 1
    for j, note in ipairs(notes) do
      if note[1] < notes[oldest][1] then oldest = j end
    end
    table.remove(notes, oldest)
  end
  local note, x = { now, n, 0, t + $reserved, handle }, 0
  --+ still
  note[3] = x
  notes[#notes + 1] = note
end

--: save_notes
do
  local till
  w$i, till = write_notes(notes)
  if b$i == nil then
    --+ ends
    y$i = ends
  end
  if till > y$i then y$i = till end
end
