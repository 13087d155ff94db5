-- Write an order of an operator; `books.lua` is prepended. KEYS: prefix. ARGV: the order, and for
-- `drop` and `allow` the lane and why. Returns how many workers hear of it, how many queued requests
-- it deletes (`drop`), or whether it changes anything (`allow`); -1 if the crawl is not ours.

local order, lane, version = a.order, a.lane, call('HGET', TOTALS, 'version')
if version and version ~= a.version or call('EXISTS', P .. 'flushing') == 1 then return -1 end
if lane == '' and call('EXISTS', P .. 'epoch') == 0 then return 0 end
if order == 'pause' or order == 'stop' then call('HSET', TOTALS, 'order', order) end
if order == 'resume' then call('HDEL', TOTALS, 'order') end
if lane == '' then return call('ZCOUNT', WORKERS, now, '+inf') end

local change = order == 'drop' and call('HSET', DROPPED, lane, a.why) or call('HDEL', DROPPED, lane)
call('HSET', DROPPED, '', table.concat(redis.call('TIME'), '.'))
if order == 'allow' or call('EXISTS', TOTALS) == 0 then return order == 'allow' and change or 0 end
if not gen then recount() end
local r = get(lane)
local deleted = count(lane)
for _, priority in ipairs(call('ZRANGE', P .. 'p:' .. lane, 0, -1)) do
  call('UNLINK', P .. 'q' .. priority .. ':' .. lane)
end
call('UNLINK', list_of(lane, 0), P .. 'p:' .. lane)
queued, r.queued = queued - r.queued, 0
place(lane, r)
counts.owed, counts.dropped, counts.forgotten = -deleted, deleted, deleted
write()
return deleted
