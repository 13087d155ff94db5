-- Some workers. KEYS: prefix. ARGV: the first, the last, and how many lost workers.

local call, now = redis.call, clock()
local found, all = {}, call('ZRANGE', P .. 'w', ARGV[1], ARGV[2], 'WITHSCORES')
local function add(name, ends)
  local host, since, done = unpack(call('HMGET', P .. 'm:' .. name, 'host', 'since', 'done'))
  found[#found + 1] = {name, ends and ends - now, call('HLEN', P .. 'f:' .. name),
                       call('SISMEMBER', P .. 'busy', name), host,
                       now - (tonumber(since) or 0 / 0), done}
end
for place = 1, #all, 2 do add(all[place], all[place + 1]) end
if ARGV[1] == '0' then
  for _, name in ipairs(call('SRANDMEMBER', P .. 'dying', ARGV[3])) do add(name, false) end
end
return cmsgpack.pack(found)
