-- The state of a flow as one decimal number: what is kept of a subject whose only record is that of a flow at the
-- first position. Redis keeps such a number in 16 bytes instead of 48.
--
-- The last 15 digits are the tick at which the bucket will be empty, from DECIMAL_EPOCH on. Those before are the code
-- of the pace (src/decimal.rs has all of it): the last digit is an exponent of ten, those before are a mantissa, or if
-- the code is negative four times a mantissa and a kind. 0, 1 and 2: the ticks are divided by three, and so many parts
-- of a tick remain at the instant; 3: they are multiplied by 864, which makes parts of a day.
-- A state at another pace, or of another time, is a record as any other (state.lua).
--
-- Sections:
--   expand_decimal   puts a record in place of the number, if it is one: before the value is read where that may be,
--                    else after it was found to be no record
--   read_decimal     reads the state of a limit from the number, at its own pace without taking it apart
--   save_decimal     defines limit.new_value, if the state can be a number
--
-- Expects, read only:
-- luacheck: read globals call unpack pack sub byte ticks parts pace live
-- luacheck: read globals rest ticks_of_code parts_of_code
-- Expects and assigns (see README.md):
-- luacheck: globals limit subject empty_at empty_parts old_ticks old_parts
-- Placeholders (see README.md):
-- luacheck: read globals VERSION VERSION_CHAR DECIMAL_EPOCH DECIMAL_SPAN DECIMAL_TAG DECIMAL_MAX_CODE MAX_SPAN

--: expand_decimal
if byte(subject.value) ~= VERSION and #subject.value > 15 and string.find(subject.value, '^%-?[1-9]%d+$') then
  local code = sub(subject.value, 1, -16) + 0
  --+ pace_of_code
  if ticks_of_code > 0 then
    subject.value = VERSION_CHAR .. DECIMAL_TAG
      .. pack('<I7I4I7I4', DECIMAL_EPOCH + sub(subject.value, -15), rest, ticks_of_code, parts_of_code)
  end
end

--: pace_of_code
-- luacheck: read globals code
local mantissa, exponent, rest, parts_of_code = math.floor(code / 10), code % 10, 0, 1
if code < 0 then
  mantissa, exponent = math.floor(-code / 10), -code % 10
  rest = mantissa % 4
  mantissa = math.floor(mantissa / 4)
  if rest == 3 then mantissa, rest = mantissa * 864, 0 else parts_of_code = 3 end
end
local ticks_of_code = mantissa * 10 ^ exponent
-- No number of 64 bits has such a code.
if code > DECIMAL_MAX_CODE or code < -DECIMAL_MAX_CODE then ticks_of_code = 0 end

--: read_decimal
empty_at = DECIMAL_EPOCH + sub(subject.value, -15)
empty_parts = (pace - sub(subject.value, 1, -16)) / 10
if pace == 0 or empty_parts < 0 or empty_parts >= parts or empty_parts % 1 > 0 then
  local code = sub(subject.value, 1, -16) + 0
  --+ pace_of_code
  if ticks_of_code == 0 then
    return redis.error_reply('TGSTATE the key of a subject holds a value that this version did not write')
  end
  empty_parts, old_ticks, old_parts = rest, ticks_of_code, parts_of_code
end

--: save_decimal
limit.new_value = nil
if live and pace ~= 0 and old_ticks == ticks and old_parts == parts and not subject.hashed
  and empty_at >= DECIMAL_EPOCH and empty_at < DECIMAL_EPOCH + DECIMAL_SPAN then
  limit.new_value = string.format('%d%015d', pace - 10 * empty_parts, empty_at - DECIMAL_EPOCH)
end
