-- One lane. KEYS: prefix. ARGV: the lane, and the last indexes of priorities and workers to read.

local lane, call, now = ARGV[1], redis.call, clock()
local packed, why = call('HGET', P .. 'lines', lane), call('HGET', P .. 'dropped', lane)
if not packed and not why then return false end
local r = read(packed or pack(blank(LANE), LANE), LANE)
if not r then return cmsgpack.pack({place = '?'}) end
local priorities = {}
for _, priority in ipairs(call('ZRANGE', P .. 'p:' .. lane, 0, ARGV[2])) do
  priorities[#priorities + 1] = {priority, call('LLEN', P .. 'q' .. priority .. ':' .. lane)}
end
local holder
if r.closer ~= '' then
  for _, name in ipairs(call('ZRANGE', P .. 'w', 0, ARGV[2])) do
    if call('HEXISTS', P .. 'f:' .. name, r.closer) == 1 then holder = name end
  end
end
return cmsgpack.pack({
  now = now, place = r.place, queued = r.queued, delay = r.delay, limit = r.limit, valid = r.valid,
  out = r.out, closer = r.closer, why_it_waits = r.why, due = call('ZSCORE', P .. 'due', lane),
  check = call('ZSCORE', P .. 'new', lane), usual = call('LLEN', P .. 'q:' .. lane),
  priorities = priorities, holder = holder, dropped = why or nil,
})
