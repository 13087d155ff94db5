-- Delete all keys of a crawl, some keys of Redis at a time.
-- KEYS: prefix. ARGV: a cursor, "0" at first, and the worker. Returns the next cursor; "0" ends it.
-- Each run looks at about 500 keys, so that other commands can run. No worker can join until the end.

local P, cursor = KEYS[1], ARGV[1]
if cursor == '0' then
  redis.call('SET', P .. 'flushing', ARGV[2], 'PX', 10000)
  local epoch, taken_over = redis.pcall('GET', P .. 'epoch'), redis.pcall('HGET', P .. 't', 'taken_over')
  local may_wake = type(taken_over) == 'string' or redis.call('EXISTS', P .. 'w') == 1
  if may_wake and type(epoch) == 'string' then redis.call('SET', P .. 'over', epoch, 'PX', 86400000) end
elseif redis.call('GET', P .. 'flushing') ~= ARGV[2] then
  return '0'
end
redis.call('PEXPIRE', P .. 'flushing', 10000)
local kept = {flushing = true, dropped = true, over = true}
local pattern = string.gsub(P, '([%*%?%[%]\\])', '\\%1') .. '*'
local found = redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', 500)
for _, key in ipairs(found[2]) do
  local name = string.sub(key, #P + 1)
  if not kept[name] and string.sub(name, 1, 4) ~= 'odd:' then redis.call('UNLINK', key) end
end
if found[1] == '0' then redis.call('UNLINK', P .. 'flushing', P .. 't') end
return found[1]
