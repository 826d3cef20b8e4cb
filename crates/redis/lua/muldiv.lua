--: muldiv
-- floor((a * b + c) / d) and what is left over, exactly, though doubles end at 2^53 and a * b need
-- not. All are whole numbers below 2^53, and d at most 2^51.
muldiv = muldiv or function(a, b, c, d)
  local x = a * b + c
  if x < 9007199254740992 then
    local y = floor(x / d)
    return y, x - y * d
  end
  local y, z = floor(b / d), floor(c / d)
  b, c = b - y * d, c - z * d
  -- Digits of a, from the highest on, in the greatest base in which nothing passes 2^53.
  local base, place, q, r = 2, 1, 0, 0
  while base * d <= 2251799813685248 do base = base * 2 end
  while place * base <= a do place = place * base end
  local rest = a
  while place >= 1 do
    local digit = floor(rest / place)
    rest = rest - digit * place
    r = r * base + digit * b
    local k = floor(r / d)
    q, r = q * base + k, r - k * d
    place = place / base
  end
  q, r = q + a * y + z, r + c
  if r >= d then q, r = q + 1, r - d end
  return q, r
end
