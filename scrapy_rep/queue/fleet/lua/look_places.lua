-- The number of lanes in each place. KEYS: prefix. ARGV: a cursor, and about how many lanes.

local call, now = redis.call, clock()
local found = call('HSCAN', P .. 'lines', ARGV[1], 'COUNT', ARGV[2])
local counts = {}
for number = 2, #found[2], 2 do
  local is_read, r = pcall(cmsgpack.unpack, found[2][number])
  local where = is_read and type(r) == 'table' and type(r[1]) == 'string' and r[1] or '?'
  if where == 'n' then
    local at = call('ZSCORE', P .. 'new', found[2][number - 1])
    if at and tonumber(at) > now then
      local waits = {held = 'held', shut = 'shut', resting = 'resting'}
      where = waits[r[11]] or 'asked'
    end
  end
  where = string.sub(where, 1, 8)
  counts[where] = (counts[where] or 0) + 1
end
return cmsgpack.pack({found[1], counts})
