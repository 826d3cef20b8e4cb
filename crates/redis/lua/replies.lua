-- Replies kept under the id of an operation, so that a retry gets the reply of the first time.
--
-- One string for each id: a version, and an entry for each operation that was done under it: the number
-- of the operation, until when it is kept, the generation of the subject's ids (a reset without an id
-- begins a new one, so that older entries no longer count), and the reply.
--
-- Sections:
--   recall       returns a kept reply; otherwise defines what `remember` needs
--   found_reply  what is done with it: returned, returned if leases are still held, or replaced
--   remember     keeps the reply of this call
--   scan_replies, make_entry   the parts of both that runs.lua has in common with them
--   forget       deletes the replies of this id, if a lease was released
--   read_generation, check_generation   for a reset, before anything is written
--   forget_all   begins a new generation
--
-- Expects, read only:
-- luacheck: read globals call unpack pack sub byte time args rest_at allowed changed reply
-- luacheck: read globals ttl entry
-- Placeholders (see README.md):
-- luacheck: read globals ACT ID_TTL ID_KEY GENERATION_KEY GENERATION_TTL_MS SLACK_MS VERSION VERSION_CHAR
-- luacheck: read globals REMEMBERED KEPT_REPLY

--: recall
local known, generation = call('GET', KEYS[ID_KEY]), call('GET', KEYS[GENERATION_KEY]) or ''
local last_expiry, others = time, ''
--+ scan_replies

--: scan_replies
-- luacheck: globals known generation last_expiry others
if known then
  if byte(known) ~= VERSION then
    return redis.error_reply('TGSTATE the key of an id holds a value that this version did not write')
  end
  local place = 2
  while place <= #known do
    local act, expiry, of_generation, kept_reply, next = unpack('<BI7I2c0I4c0', known, place)
    if of_generation == generation then
      if act == ACT then
        --+ found_reply
      else
        others = others .. sub(known, place, next - 1)
        if expiry > last_expiry then last_expiry = expiry end
      end
    end
    place = next
  end
end

--: found_reply
-- luacheck: read globals kept_reply expiry
if time < expiry then return pack('<B', REMEMBERED) .. kept_reply end

--: found_reply of_leases
-- luacheck: globals remembered
-- It is returned if the leases are still held, which their states say: see src/script/assemble.rs.
if time < expiry then remembered = pack('<B', REMEMBERED) .. kept_reply end

--: found_reply to_replace
-- It is left out of what is written.

--: remember
if changed and allowed then
  local kept_reply = KEPT_REPLY
  --+ make_entry
  call('PSETEX', KEYS[ID_KEY], string.format('%d', ttl), VERSION_CHAR .. others .. entry)
  if generation ~= '' then call('PEXPIRE', KEYS[GENERATION_KEY], GENERATION_TTL_MS) end
end

--: make_entry
-- luacheck: read globals kept_reply
-- Defines the `entry` of `kept_reply`, and for how long the key of the id lives.
local expiry = time + ID_TTL
if expiry > last_expiry then last_expiry = expiry end
local ttl = (last_expiry - time) / 1000 + SLACK_MS
--+ min_ttl
local entry = pack('<BI7I2c0I4c0', ACT, expiry, #generation, generation, #kept_reply, kept_reply)

--: forget
if changed then call('DEL', KEYS[ID_KEY]) end

--: read_generation
local generation, last_expiry, others = call('GET', KEYS[GENERATION_KEY]) or ''
--+ check_generation

--: check_generation
-- luacheck: read globals generation
if generation ~= '' and (#generation > 15 or not string.find(generation, '^%d+$')) then
  return redis.error_reply('TGSTATE the key of a generation holds a value that this version did not write')
end

--: forget_all
-- luacheck: globals generation others last_expiry
generation = string.format('%d', (generation == '' and 0 or generation) + 1)
call('PSETEX', KEYS[GENERATION_KEY], GENERATION_TTL_MS, generation)
others, last_expiry = '', time
