-- Put some dead letters back into the queue; `books.lua` is prepended. KEYS: prefix.
-- ARGV: the version, how many, and whether the next run does them without start requests.
-- They come after the other requests of their origins, one at a time for each worker, because they
-- may kill workers. Letters without a whole request stay. Returns how many were put back, or -1.

local back, version = 0, call('HGET', TOTALS, 'version')
if version and version ~= a.version or call('EXISTS', P .. 'flushing') == 1 then return -1 end
if not gen then recount() end
call('SET', P .. 'epoch', table.concat(redis.call('TIME'), '.'), 'NX')  -- only letters were left
call('HSET', TOTALS, 'version', a.version)
local has_ended = call('HEXISTS', TOTALS, 'ended') == 1
if has_ended then forget_lost() end
for _ = 1, a.most do
  local packed = call('LPOP', DEAD)
  local letter = packed and read(packed, LETTER)
  if letter and letter.is_whole then
    back = back + 1
    local entry, token = '\1' .. letter.payload, parts(letter.payload)
    local home = HOMES[string.sub(token, 1, 1)]
    if home then counts.seen = counts.seen - call('SREM', home, token) end
    accept(token)
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
return back
