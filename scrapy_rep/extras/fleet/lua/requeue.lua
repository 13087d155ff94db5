-- Put some dead letters back into the queue; `books.lua` is prepended. KEYS: prefix.
-- ARGV: the version, how many, and whether the next run does them without start requests.
-- They come after the other requests of their origins, one at a time for each worker, because they
-- may kill workers. Letters without a whole request stay. Returns how many were put back, or -1.

local back, version = 0, call('HGET', TOTALS, 'version')
if version and version ~= a.version or call('EXISTS', P .. 'flushing') == 1 then return -1 end
gen = tonumber(call('HGET', TOTALS, 'gen') or '')
if not gen then recount() end
call('SET', P .. 'epoch', table.concat(redis.call('TIME'), '.'), 'NX')  -- only letters were left
call('HSET', TOTALS, 'version', a.version)
local has_ended = call('HEXISTS', TOTALS, 'ended') == 1
if has_ended and total('n', 0) + call('LLEN', SEEDS) == 0 then  -- what was lost is found again
  call('DEL', OWED)
end
for _ = 1, a.most do
  local packed = call('LPOP', DEAD)
  local letter = packed and read(packed, LETTER)
  if letter and letter.is_whole then
    back = back + 1
    local entry, token = '\1' .. letter.payload, parts(letter.payload)
    call('SREM', HOMES[string.sub(token, 1, 1)] or OWED, token)
    call('SADD', OWED, token)
    if letter.lane == '' then
      call('RPUSH', SEEDS, entry)
    else
      enqueue(letter.lane, LAST, entry, false)
    end
  elseif packed then
    call('RPUSH', DEAD, packed)
  end
end
call('HDEL', TOTALS, 'idle')
if back > 0 and has_ended then call('HSET', TOTALS, 'ended', 'keep') end
if back > 0 and a.only_letters then call('HSET', TOTALS, 'only_letters', 1) end
write()
total('n', queued)
return back
