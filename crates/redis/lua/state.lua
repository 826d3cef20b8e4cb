-- One string for each (policy, subject): a version, and a record for each limit that was used. A record
-- is a tag (the position of the limit, and its rule) and a body. Where reservations are open, 8 is
-- added to the rule, and a byte says whether there is a body before the notes.
--
-- For each limit o and m say where its body and its notes begin, r is the whole record as it was.

--: read
local v$g = call('GET', KEYS[$g])
local rest$g = ''
if v$g then
  --+ offsets
  if odd$g then
    --+ walk
  end
end

--: walk
if byte(v$g) ~= $version then
  return redis.error_reply('TGSTATE a key of ours holds what this version did not write')
end
local place, past = 2, #v$g
while place <= past do
  local tag = byte(v$g, place)
  local rule, first, body, notes = tag % 16, place, place + 1, false
  place = body
  if rule > 8 then
    rule, body, place = rule - 8, byte(v$g, body) == 1 and body + 1, body + 1
    notes = true
  end
  if body then
    local size = ({ $sizes })[rule] or past
    if size == 0 then size = place + 3 > past and past or 4 + unpack('<I4', v$g, place) end
    place = place + size
  end
  if notes then
    notes = place
    place = place + 4 + (place + 3 > past and past or unpack('<I4', v$g, place))
  end
  if place > past + 1 then
    return redis.error_reply('TGSTATE a key of ours holds what this version did not write')
  end
  local position, record = floor(tag / 16), sub(v$g, first, place - 1)
  --+ positions
end

--: keep
-- Adds the record of one limit to those that are kept, and its end to theirs.
do
  local body, notes = b$i, w$i
  if body == nil and notes == nil then
    local record = r$i
    if o$i and not record then record = sub(v$g, o$i - 1, o$i - 1 + $size) end
    if record then
      kept = kept .. record
      if not o$i or m$i then
        longer = true
      elseif x$i > till then
        till = x$i
      end
    end
  else
    if body == nil then body = o$i and sub(v$g, o$i, o$i - 1 + $size) end
    if notes == nil then notes = m$i and sub(v$g, m$i, m$i + 3 + unpack('<I4', v$g, m$i)) end
    if notes then
      kept = kept .. '$tag_noted' .. (body and '\1' .. body or '\0') .. notes
    elseif body then
      kept = kept .. '$tag' .. body
    end
    if y$i > till then till = y$i end
  end
end

--: write
do
  local kept, till, longer = '', 0, rest$g ~= ''
  --+ keeps
  kept = kept .. rest$g
  if kept == '' then
    if v$g then call('DEL', KEYS[$g]) end
  else
    local ttl = (till - t) / 1000 + $slack
    --+ at_least
    if longer then
      -- What was not opened may last longer than what was.
      local before = call('PTTL', KEYS[$g])
      if before > ttl then ttl = before end
    end
    if ttl < 1 then
      -- All of it is past its reset.
      if v$g then call('DEL', KEYS[$g]) end
    else
      -- Of all ways to write with an end this one takes the least time; so does %d for the number.
      call('PSETEX', KEYS[$g], format('%d', ttl), '$version_char' .. kept)
    end
  end
end
