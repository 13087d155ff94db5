-- Delete all keys of a crawl, some lanes at a time.
-- KEYS: prefix. ARGV: a cursor, "0" at first, and the worker. Returns the next cursor; "0" ends it.
-- Each run costs O(100 lanes), so that other commands can run. No worker can join until the end.

local P, cursor = KEYS[1], ARGV[1]
local function found_in(...)  -- empty for a key of an unexpected type, which is deleted too
  local found = redis.pcall(...)
  return found.err and {} or found
end
if cursor == '0' then
  redis.call('SET', P .. 'flushing', ARGV[2], 'PX', 10000)
elseif redis.call('GET', P .. 'flushing') ~= ARGV[2] then
  return '0'
end
redis.call('PEXPIRE', P .. 'flushing', 10000)
local found = found_in('HSCAN', P .. 'lines', cursor, 'COUNT', 100)
if not found[1] then found = {'0', {}} end
for place = 1, #found[2], 2 do
  local lane = found[2][place]
  for _, priority in ipairs(found_in('ZRANGE', P .. 'p:' .. lane, 0, -1)) do
    redis.call('UNLINK', P .. 'q' .. priority .. ':' .. lane)
  end
  redis.call('UNLINK', P .. 'q:' .. lane, P .. 'p:' .. lane)
end
if found[1] == '0' then
  for _, name in ipairs({'m:', 'f:'}) do
    for _, worker in ipairs(found_in('SMEMBERS', P .. 'dying')) do
      redis.call('UNLINK', P .. name .. worker)
    end
    for _, worker in ipairs(found_in('ZRANGE', P .. 'w', 0, -1)) do
      redis.call('UNLINK', P .. name .. worker)
    end
  end
  redis.call('UNLINK', P .. 'due', P .. 'new', P .. 'lines', P .. 'w', P .. 'dying', P .. 'busy',
             P .. 'df', P .. 'starts', P .. 'seeds', P .. 't', P .. 'epoch',
             P .. 'ids', P .. 'renewed', P .. 'mend', P .. 'mending', P .. 'flushing')
  redis.call('PEXPIRE', P .. 'dead', 604800000)  -- kept for a week for users
end
return found[1]
