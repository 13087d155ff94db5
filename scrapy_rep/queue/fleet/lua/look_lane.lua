-- One lane. KEYS: prefix. ARGV: the lane, and the last indexes of priorities and workers to read.

local lane, call, now = ARGV[1], redis.call, clock()
local packed, why = call('HGET', P .. 'lines', lane), call('HGET', P .. 'dropped', lane)
if not packed and not why then return false end
local is_read, r = pcall(cmsgpack.unpack, packed or cmsgpack.pack({'i'}))
if not is_read or type(r) ~= 'table' then return cmsgpack.pack({place = '?'}) end
local priorities = {}
for _, priority in ipairs(call('ZRANGE', P .. 'p:' .. lane, 0, ARGV[2])) do
  priorities[#priorities + 1] = {priority, call('LLEN', P .. 'q' .. priority .. ':' .. lane)}
end
local holder
if type(r[7]) == 'string' and r[7] ~= '' then
  for _, name in ipairs(call('ZRANGE', P .. 'w', 0, ARGV[2])) do
    if call('HEXISTS', P .. 'f:' .. name, r[7]) == 1 then holder = name end
  end
end
return cmsgpack.pack({
  now = now, place = r[1], queued = r[2], delay = r[3], at_a_time = r[4], valid = r[5], out = r[6],
  id = r[7], reason = r[11], due = call('ZSCORE', P .. 'due', lane),
  check = call('ZSCORE', P .. 'new', lane), usual = call('LLEN', P .. 'q:' .. lane),
  priorities = priorities, holder = holder, why = why or nil,
})
