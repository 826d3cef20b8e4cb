-- What was answered under an id: one string for each id, with an entry for each act: until when, in
-- which generation of the key's ids (a reset begins a new one), and what was told.

--: recall
local known, generation = call('GET', KEYS[$id]), call('GET', KEYS[$generation]) or ''
local last, others = t, ''
if known then
  if byte(known) ~= $version then
    return redis.error_reply('TGSTATE an id of ours holds what this version did not write')
  end
  local place = 2
  while place <= #known do
    local act, till, era, told, next = unpack('<BI7I2c0I4c0', known, place)
    if era == generation then
      if act == $act then
        if t < till then return pack('<B', $remembered) .. told end
      else
        others = others .. sub(known, place, next - 1)
        if till > last then last = till end
      end
    end
    place = next
  end
end

--: remember
if changed and ok then
  local till = t + unpack('<I7', a, $tail)
  if till > last then last = till end
  local told = $told
  local ttl = (last - t) / 1000 + $slack
  --+ at_least
  local entry = pack('<BI7I2c0I4c0', $act, till, #generation, generation, #told, told)
  call('PSETEX', KEYS[$id], format('%d', ttl), '$version_char' .. others .. entry)
  if generation ~= '' then call('PEXPIRE', KEYS[$generation], $era) end
end

--: forget
call('DEL', KEYS[$id])

--: forget_all
generation = tostring(call('INCR', KEYS[$generation]))
call('PEXPIRE', KEYS[$generation], $era)
others, last = '', t
