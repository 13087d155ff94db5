-- Prepended to other scripts. KEYS: prefix.

local P = KEYS[1]
local TOTALS = P .. 't'

local function number(value)  -- of a stored value; 0 if it is not a number
  local found = tonumber(value or '') or 0
  return math.abs(found) < 1e15 and found or 0
end

-- The crawl's clock in ms, and its lead over Redis's clock. It never goes back, so the times in the
-- keys stay close after a fail-over to a slower clock, or after somebody set the clock back.
local function clock(at)  -- at: another time, for tests
  local time, last = redis.call('TIME'), redis.pcall('HMGET', TOTALS, 'now', 'shift')
  at = at or (time[1] * 1000 + math.floor(time[2] / 1000))
  local shift = math.max(number(last[2]), number(last[1]) - at)
  return at + shift, shift, number(last[1])
end
