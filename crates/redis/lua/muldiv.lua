-- Exact products and quotients of whole numbers that do not fit into a double.
--
-- Section `muldiv` defines the function of that name unless it is defined already. The including part
-- has declared it: `local muldiv`.
--
-- Expects, read only:
-- Expects and assigns:
-- luacheck: globals muldiv

--: muldiv
-- Returns floor((a * b + c) / d) and the remainder, exactly, although doubles are exact only below 2^53
-- and a * b may be larger. All are whole numbers below 2^53, and d at most 2^51.
muldiv = muldiv or function(a, b, c, d)
  local product = a * b + c
  if product < 9007199254740992 then
    local quotient = math.floor(product / d)
    return quotient, product - quotient * d
  end
  local whole_b, whole_c = math.floor(b / d), math.floor(c / d)
  b, c = b - whole_b * d, c - whole_c * d
  -- Long division over the digits of a, the highest first, in the greatest base in which no
  -- intermediate result passes 2^53.
  local base, place, quotient, remainder = 2, 1, 0, 0
  while base * d <= 2251799813685248 do base = base * 2 end
  while place * base <= a do place = place * base end
  local rest = a
  while place >= 1 do
    local digit = math.floor(rest / place)
    rest = rest - digit * place
    remainder = remainder * base + digit * b
    local step = math.floor(remainder / d)
    quotient, remainder = quotient * base + step, remainder - step * d
    place = place / base
  end
  quotient, remainder = quotient + a * whole_b + whole_c, remainder + c
  if remainder >= d then quotient, remainder = quotient + 1, remainder - d end
  return quotient, remainder
end
