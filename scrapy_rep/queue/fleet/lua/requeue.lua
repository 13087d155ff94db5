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
for _ = 1, a.most do
  local packed = call('LPOP', DEAD)
  local letter = packed and unpacked(packed, {'', '', '', 0, true})
  if letter and letter[5] then
    back = back + 1
    if letter[1] == '' then
      call('RPUSH', SEEDS, '\1' .. letter[3])
    else
      enqueue(letter[1], LAST, '\1' .. letter[3], false)
    end
  elseif packed then
    call('RPUSH', DEAD, packed)
  end
end
call('HDEL', TOTALS, 'idle')
if back > 0 and call('HEXISTS', TOTALS, 'ended') == 1 then call('HSET', TOTALS, 'ended', 'keep') end
if back > 0 and a.only_letters then call('HSET', TOTALS, 'only_letters', 1) end
write()
total('n', queued)
return back
