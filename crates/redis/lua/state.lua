-- Reads and writes the value of one subject under one policy.
--
-- The value is one string: a version, and a record for each limit that was used. A record is a tag (the
-- position of the limit times 16, plus the number of its rule) and a body. Where reservations are open, 8
-- is added to the rule, a byte 1 or 0 says whether there is a body, and the numbers of the reservations follow it.
-- A flow that is alone may be one decimal number instead (decimal.lua).
--
-- Sections:
--   read     finds the body and the reservations of each limit in the value
--   walk     the slow way to find them, where the value is not laid out as expected (subject.irregular)
--   keep     adds the record of one limit to the new value
--   write    sets the new value, or deletes the key if nothing is left
--   put_value   sets the value and the parts that are kept apart (apart.lua)
--   put_keeping_ttl   the same where the key expires when it would have before
--   put_hash    the same where the key does not hold a hash yet
-- `expected_layout`, `read_irregular` and `read_unread` are written by src/script/layout.rs: the check for the expected
-- layout, and the reading of the bodies. `assign_record`, `keep_all` and `min_ttl` are written by
-- src/script/records.rs: the choice of the limit that a record belongs to, `keep` for each limit of the subject, and
-- the least time to live where the time is passed in.
--
-- Expects, read only:
-- luacheck: read globals call unpack sub byte time spread
-- Expects and assigns (see README.md):
-- luacheck: globals limit subject
-- Placeholders (see README.md):
-- luacheck: read globals SUBJECT_KEY VERSION VERSION_CHAR TAG TAG_WITH_RESERVATIONS BODY_BYTES ALL_BODY_BYTES
-- luacheck: read globals SLACK_MS RESERVATIONS_BYTES MAY_BE_APART STORED

--: read
-- A string has no such field either, and to ask for its type takes longer.
if subject.value and subject.value.err then
  -- Where parts are kept apart, the key holds a hash.
  local failed = subject.value
  if not string.find(failed.err, '^WRONGTYPE') then return failed end
  subject.value, subject.hashed = call('HGET', KEYS[SUBJECT_KEY], 's'), true
  if not subject.value then return failed end
end
if subject.value then
  --+ expand_decimal
  --+ expected_layout
  if subject.irregular then
    --+ expand_unexpected_decimal
    --+ walk
    --+ read_irregular
  end
  --+ read_unread
end

--: walk
if byte(subject.value) ~= VERSION then
  return redis.error_reply('TGSTATE the key of a subject holds a value that this version did not write')
end
local place, past = 2, #subject.value
while place <= past do
  local tag = byte(subject.value, place)
  local rule, first, body, reservations = tag % 16, place, place + 1, false
  place = body
  if rule > 8 then
    rule, body, place = rule - 8, byte(subject.value, body) == 1 and body + 1, body + 1
    reservations = true
  end
  if body then
    local size = ({ ALL_BODY_BYTES })[rule] or past
    if size == 0 then size = place + 3 > past and past or 4 + unpack('<I4', subject.value, place) end
    place = place + size
  end
  if reservations then
    reservations = place
    place = place + RESERVATIONS_BYTES
  end
  if place > past + 1 then
    return redis.error_reply('TGSTATE the key of a subject holds a value that this version did not write')
  end
  local position, record = math.floor(tag / 16), sub(subject.value, first, place - 1)
  --+ assign_record
end

--: keep
-- luacheck: globals kept expiry keeps_unread
-- Adds the record of one limit to `kept`, and its expiry to `expiry`.
do
  local body, reservations = limit.new_body, limit.new_reservations
  if body == nil and reservations == nil then
    local record = limit.record
    if limit.body_at and not record then
      record = sub(subject.value, limit.body_at - 1, limit.body_at - 1 + BODY_BYTES)
    end
    if record then
      kept = kept .. record
      if not limit.body_at or limit.reservations_at then
        keeps_unread = true
      elseif limit.old_expiry > expiry then
        expiry = limit.old_expiry
      end
    end
  else
    if body == nil then
      body = limit.body_at and sub(subject.value, limit.body_at, limit.body_at - 1 + BODY_BYTES)
    end
    if reservations == nil then
      reservations = limit.reservations_at and sub(subject.value, limit.reservations_at,
        limit.reservations_at + RESERVATIONS_BYTES - 1)
    end
    if reservations and body then
      kept = kept .. TAG_WITH_RESERVATIONS .. '\1' .. body .. reservations
    elseif reservations then
      kept = kept .. TAG_WITH_RESERVATIONS .. '\0' .. reservations
    elseif body then
      kept = kept .. TAG .. body
    end
    if limit.new_expiry > expiry then expiry = limit.new_expiry end
  end
end

--: write
do
  -- Each concatenation copies what may be long, so there are few.
  local kept, expiry, keeps_unread = VERSION_CHAR, 0, subject.rest ~= ''
  --+ keep_all
  kept = kept .. subject.rest
  if kept == VERSION_CHAR then
    if subject.value then call('DEL', KEYS[SUBJECT_KEY]) end
  else
    local ttl = (expiry - time) / 1000 + SLACK_MS
    --+ min_ttl
    if keeps_unread then
      -- Records that were not read may have to last longer than those that were.
      local before = call('PTTL', KEYS[SUBJECT_KEY])
      if before > ttl then ttl = before end
    end
    if ttl < 1 then
      -- All of it is past its reset.
      if subject.value then call('DEL', KEYS[SUBJECT_KEY]) end
    else
      --+ put_value
    end
  end
end

--: put_value
-- luacheck: read globals kept ttl
-- Writes the value, and what was changed apart from it. A key that holds a hash does so until it expires.
do
  local set, gone = nil, nil
  if MAY_BE_APART then
    set, gone = {}, {}
    --+ collect_parts
  end
  if set and (subject.hashed or #set > 0) then
    set[#set + 1], set[#set + 2] = 's', kept
    if subject.hashed then
      call('HSET', KEYS[SUBJECT_KEY], spread(set))
      if #gone > 0 then call('HDEL', KEYS[SUBJECT_KEY], spread(gone)) end
      call('PEXPIRE', KEYS[SUBJECT_KEY], string.format('%d', ttl))
    else
      --+ put_hash
    end
  else
    -- Of all commands that set a value with an expiry this one takes the least time, and so does %d.
    call('PSETEX', KEYS[SUBJECT_KEY], string.format('%d', ttl), STORED)
  end
end

--: put_keeping_ttl
-- Setting when a key expires takes half as long as all else that the command does.
call('SET', KEYS[SUBJECT_KEY], kept, 'KEEPTTL')

--: put_hash
-- luacheck: read globals set
-- Makes a hash of the key. If that fails, for want of a permission, the key is left as it was.
do
  local before = subject.value and call('PTTL', KEYS[SUBJECT_KEY]) or 0
  before = string.format('%d', before > 0 and before or ttl)
  if subject.value and type(redis.pcall('PTTL', KEYS[SUBJECT_KEY] .. ':')) == 'table' then
    -- A cluster node whose slot is on the move refuses all keys that it has not; so it would refuse this one after its
    -- deletion. The call is repeated until the key has moved.
    return redis.error_reply('TRYAGAIN the slot of the key is on the move')
  end
  if subject.value then
    -- Without memory a deletion is allowed, and after it everything: writing what is there finds out.
    call('PSETEX', KEYS[SUBJECT_KEY], before, subject.value)
    call('DEL', KEYS[SUBJECT_KEY])
  end
  local failed = redis.pcall('HSET', KEYS[SUBJECT_KEY], spread(set))
  if type(failed) ~= 'table' then
    failed = redis.pcall('PEXPIRE', KEYS[SUBJECT_KEY], string.format('%d', ttl))
  end
  if type(failed) == 'table' then
    call('DEL', KEYS[SUBJECT_KEY])
    if subject.value then call('PSETEX', KEYS[SUBJECT_KEY], before, subject.value) end
    return failed
  end
end
