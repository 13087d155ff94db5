-- Code that is prepended to the scripts that write, after `clock.lua` and `records.lua`. KEYS: prefix.
-- ARGV: a msgpack table. `scripts.py` documents the keys.
--
-- A lane holds the queued requests that one origin judges. It is in one of five places (`place`):
--
-- place   which lanes                        what ends it
-- ------  ---------------------------------  ----------------------------------------------
-- idle    lanes without requests             a push, a give-back, a takeover
-- new     lanes without a known policy       a report of the worker that checks it; after
--                                            its lease, another worker checks it
-- due     lanes with requests that may be    a pop, once its time has come
--         popped
-- closed  lanes with a delay, after one      the request was sent, has ended, was given
--         request was popped                 back, or its worker was taken over
-- full    lanes with as many requests under  one of them was answered, or as above
--         way as the origin allows
--
-- Other programs that write to Redis, or evictions, may make the data inconsistent. The lists of
-- requests and the hashes of the workers' requests are the source of truth; all other keys are
-- rebuilt from them. When an inconsistency is found, a recount begins (`recount`): each lane and
-- each worker is counted when it is used next, and `mend.lua` goes through all of them.

local a = cmsgpack.unpack(ARGV[1])
local DUE, NEW, LANES, WORKERS = P .. 'due', P .. 'new', P .. 'lines', P .. 'w'
local DEAD, SEEDS, DROPPED = P .. 'dead', P .. 'seeds', P .. 'dropped'
-- A request is known by its token: a digit (`PushKind`) and a fingerprint, or octets of its own. From
-- when it is accepted until it ends, its token is `owed`; so if no request is left, those that are
-- still owed were lost. Then it is in the set that filters its kind.
local OWED, HOMES = P .. 'owed', {['0'] = P .. 'df', ['2'] = P .. 'starts'}
-- The lowest priority (`request_codec.PRIORITY`): of suspects, and of requests that a worker refused
local LAST = -999999999999999
local PATIENCE = 100  -- so many other requests of its origin come before such a request
local aside = {}  -- what the script itself set aside, and why
local is_full = false  -- whether Redis has no memory left
local recount

-- Run a Redis command. A key of an unexpected type would make the script fail in the middle, again
-- and again: it is set aside, and the command finds no key. Without memory, Redis refuses only the
-- first write of a script, and not if it deletes something: so what frees memory can go on.
local function call(command, key, ...)
  local reply = redis.pcall(command, key, ...)
  local problem = type(reply) == 'table' and reply.err
  if not problem then return reply end
  if string.find(problem, 'WRONGTYPE', 1, true) or string.find(problem, 'not an integer', 1, true)
      or string.find(problem, 'overflow', 1, true) then
    local name = string.sub(key, #P + 1)
    redis.call('RENAME', key, P .. 'odd:' .. name)
    redis.call('PEXPIRE', P .. 'odd:' .. name, 604800000)  -- kept for a week for users
    local words = 'another program uses this key for another type: its value is in %sodd:%s for a week. '
      .. 'Give that program or the crawl another name or another database'
    aside[#aside + 1] = {'The key ' .. key, string.format(words, P, name)}
    recount()
  elseif string.find(problem, 'OOM', 1, true) then
    is_full = true
    redis.call('DEL', P .. 'none')
  elseif string.find(problem, 'permission', 1, true) or string.find(problem, "can't run", 1, true) then
    error(string.format("%s ('%s' command)", problem, string.lower(command)))
  end
  return redis.call(command, key, ...)
end

local now, shift, heard_at = clock(a.at)
local me = a.worker
local queued, flying = 0, 0  -- the changes of `n` and `fly`, and of other totals:
local counts = {owed = 0, seen = 0, done = 0, dead = 0, aside = 0, dropped = 0, forgotten = 0, roots = 0}

-- A payload here is a request, or a start URL, after its token.
local function joined(token, body)
  return string.char(#token) .. token .. body
end
local function parts(payload)
  local length = string.byte(payload, 1) or 0
  return string.sub(payload, 2, length + 1), string.sub(payload, length + 2)
end

-- The tokens of requests that are owed, and of ends that the filters know. Requests of a dropped origin
-- are not read when they are deleted, so their tokens stay.
local function owed_tokens()
  return call('SCARD', OWED) - number(call('HGET', TOTALS, 'forgotten'))
end
local function seen_tokens()
  return call('SCARD', HOMES['0']) + call('SCARD', HOMES['2'])
end

local function owed()  -- how many requests are owed, also if their tokens are lost
  return math.max(owed_tokens(), number(call('HGET', TOTALS, 'owed')) + counts.owed)
end

-- After an end, what was lost is forgotten: the next run finds it again.
local function forget_lost()
  if number(call('HGET', TOTALS, 'n')) + call('LLEN', SEEDS) == 0 then call('DEL', OWED) end
  call('HDEL', TOTALS, 'forgotten')
  call('HSET', TOTALS, 'owed', owed_tokens(), 'seen', seen_tokens())
end

-- Accept a request, unless it is owed already. `is_back`: its worker has it; its token may be lost.
local function accept(token, is_back)
  local was_lost = is_back and owed() > owed_tokens()
  local is_new = call('SADD', OWED, token) == 1
  if is_new and not was_lost then counts.owed = counts.owed + 1 end
  return is_new
end

-- Note the end of a request. Returns whether it is the first one; its token may be lost.
local function close(token)
  local was_owed, home = call('SREM', OWED, token) == 1, HOMES[string.sub(token, 1, 1)]
  local was_lost = not was_owed and token ~= '' and owed() > owed_tokens()
  local is_first = was_owed or was_lost or token == ''
  if home then
    is_first = call('SADD', home, token) == 1
    if is_first then counts.seen = counts.seen + 1 end
  end
  if was_owed or was_lost and is_first then counts.owed = counts.owed - 1 end
  return is_first
end

-- The recount

local touched, booked = {}, {}
local gen, is_recounted = nil, false

local function held_by(owner)  -- the number of requests of a worker, without turns
  local found = 0
  for _, packed in ipairs(call('HVALS', P .. 'f:' .. owner)) do
    if string.sub(packed, 1, 1) ~= 'T' then found = found + 1 end
  end
  return found
end

local function begin_count()
  local time = redis.call('TIME')
  gen = (time[1] * 1000000 + time[2]) % 4294967296  -- in microseconds, so it is unique
  if gen == number(call('HGET', TOTALS, 'gen')) then gen = gen + 1 end
  call('HSET', TOTALS, 'gen', gen, 'n', 0, 'fly', 0)
end

function recount()
  if is_recounted then return end
  is_recounted = true
  begin_count()
  call('SET', P .. 'mend', gen)
  queued, flying = 0, 0
  for _, r in pairs(touched) do r.gen, queued = gen, queued + r.queued end
  for owner in pairs(booked) do
    flying = flying + held_by(owner)
    call('HSET', TOTALS, 'f:' .. owner, gen)
  end
end

-- Include a worker's requests in the recount. `mark`: the last recount that included them, or nil.
local function book(owner, mark)
  if booked[owner] then return end
  booked[owner] = true
  if number(mark or call('HGET', TOTALS, 'f:' .. owner)) ~= gen then
    flying = flying + held_by(owner)
    call('HSET', TOTALS, 'f:' .. owner, gen)
  end
end

-- Lanes

local function list_of(lane, priority)
  return P .. 'q' .. (priority == 0 and '' or string.format('%.0f', priority)) .. ':' .. lane
end

local function priority_of(lane, member)  -- an invalid member is dropped
  local priority = tonumber(member)
  if priority and priority ~= 0 and string.format('%.0f', priority) == member then
    return priority
  end
  call('ZREM', P .. 'p:' .. lane, member)
end

-- Count the requests of a lane with an inconsistent state. O(its priorities).
local function count(lane)
  local found = call('LLEN', list_of(lane, 0))
  for _, member in ipairs(call('ZRANGE', P .. 'p:' .. lane, 0, -1)) do
    local priority = priority_of(lane, member)
    if priority then found = found + call('LLEN', list_of(lane, priority)) end
  end
  return found
end

local function get(lane)
  local r = touched[lane]
  if r then return r end
  local packed = call('HGET', LANES, lane)
  r = read(packed, LANE)
  if not r then
    r = blank(LANE)
    r.queued, r.passed = count(lane), 1
    if packed or r.queued > 0 then recount() end
  end
  if r.gen ~= gen then r.gen, queued = gen, queued + r.queued end
  touched[lane] = r
  return r
end

local function place(lane, r)
  local where = 'd'
  if r.queued <= 0 then where = 'i'
  elseif r.closer ~= '' then where = 'c'
  elseif r.valid <= now then where = 'n'
  elseif r.limit > 0 and r.out >= r.limit then where = 'f' end
  if r.place == 'd' and where ~= 'd' then call('ZREM', DUE, lane) end
  if r.place == 'n' and where ~= 'n' then call('ZREM', NEW, lane) end
  if where == 'd' then call('ZADD', DUE, r.at, lane) end
  if where == 'n' and r.place ~= 'n' then call('ZADD', NEW, now, lane) end
  r.place = where
end

local has_dropped = call('EXISTS', DROPPED) == 1
local function enqueue(lane, priority, entry, is_first)
  if has_dropped and call('HEXISTS', DROPPED, lane) == 1 then
    counts.dropped = counts.dropped + 1
    close(parts(string.sub(entry, 2)))
    return
  end
  local r = get(lane)
  call(is_first and 'LPUSH' or 'RPUSH', list_of(lane, priority), entry)
  if priority ~= 0 then
    if priority == LAST then r.passed = math.max(1, r.passed) end
    call('ZADD', P .. 'p:' .. lane, -priority, string.format('%.0f', priority))
  end
  r.queued = r.queued + 1
  queued = queued + 1
  if r.place == 'i' then place(lane, r) end
end

local function best_priority(lane)
  local first = call('ZRANGE', P .. 'p:' .. lane, 0, 0)[1]
  if not first then return 0 end
  local priority = priority_of(lane, first)
  if not priority then return best_priority(lane) end
  if priority < 0 and call('EXISTS', list_of(lane, 0)) == 1 then return 0 end
  return priority
end

local function dequeue(lane, r, priority)
  local list = list_of(lane, priority)
  local entry = call('LPOP', list)
  if priority ~= 0 and call('EXISTS', list) == 0 then
    call('ZREM', P .. 'p:' .. lane, string.format('%.0f', priority))
    if priority == LAST then r.passed = 0 end
  end
  if priority ~= LAST and r.passed > 0 then r.passed = r.passed + 1 end
  if entry then
    r.queued = r.queued - 1
    queued = queued - 1
  else
    local left = count(lane)  -- another program changed the list
    queued = queued + left - r.queued
    r.queued = left
    recount()
  end
  return entry
end

-- Open a lane when the request that closed it is gone, or close it for the next turn. `visited`:
-- whether the site may have seen that request just now.
local function open(r, visited)
  r.closer, r.next_closer = r.next_closer, ''
  if visited then r.at = math.max(r.at, now + r.delay) end
end

local function total(name, change)
  if change == 0 then return number(call('HGET', TOTALS, name)) end
  return call('HINCRBY', TOTALS, name, change)
end

-- Write the lanes and totals at the end of a script; return how many are queued, and in flight.
local function write()
  for lane, r in pairs(touched) do
    if r.place == 'i' and r.out == 0 and r.closer == '' and r.valid <= now and r.at <= now then
      call('HDEL', LANES, lane)
    else
      call('HSET', LANES, lane, pack(r, LANE))
    end
  end
  for name, change in pairs(counts) do total(name, change) end
  counts.owed = 0  -- it is written
  return total('n', queued), total('fly', flying)
end

-- The requests of workers: a letter, then a `REQUEST`. F: counts as under way at its origin. A: was answered. S: is a start URL. T: is a turn for a
-- request that was not queued; it has no payload, and does not count as in flight. K: is kept by
-- its worker, because it could not be written; its payload is only the token.

local function bury(lane, reason, payload, is_cut)
  local letter = {lane = lane, reason = reason, payload = payload, at = now, is_whole = not is_cut}
  close(parts(payload))
  call('RPUSH', DEAD, pack(letter, LETTER))
  call('LTRIM', DEAD, -10000, -1)
end

local function set_aside(lane, reason, payload, is_cut)
  counts.aside = counts.aside + 1
  aside[#aside + 1] = {lane == '' and 'An entry' or 'An entry of ' .. lane, reason}
  bury(lane, reason, is_cut and string.sub(payload, 1, 1000) or payload, is_cut)
end

local function taken(owner, id)
  local F = P .. 'f:' .. owner
  local packed = call('HGET', F, id)
  if not packed then return nil end
  book(owner)
  call('HDEL', F, id)
  local letter, request = string.sub(packed, 1, 1), read(string.sub(packed, 2), REQUEST)
  if letter ~= 'T' then flying = flying - 1 end
  if request then
    request.deliveries = math.max(0, math.min(255, math.floor(request.deliveries)))
    return letter, request
  end
  set_aside('', 'it was changed while a worker had it', '\0' .. packed, true)
  recount()  -- it may have closed its lane
end

-- End a request of a worker. `visited`: whether the site may have seen it.
local function release(letter, request, id, visited)
  if letter == 'S' or letter == 'K' then return end
  local r = get(request.lane)
  if letter == 'F' then r.out = math.max(0, r.out - 1) end
  if r.next_closer == id then r.next_closer = '' end
  if r.closer == id then open(r, visited) end
  place(request.lane, r)
end

local function give_back(owner, id, is_dead)  -- returns its octets
  local letter, request = taken(owner, id)
  if not letter then return 0 end
  release(letter, request, id, is_dead)
  local lane, payload = request.lane, request.payload
  if letter == 'T' then return 0 end
  if letter == 'K' then  -- another worker may find it again
    counts.owed = counts.owed - call('SREM', OWED, (parts(payload)))
    return 0
  end
  local deliveries = is_dead and request.deliveries or math.max(0, request.deliveries - 1)
  local entry = string.char(deliveries) .. payload
  if deliveries >= a.deliveries then
    counts.dead = counts.dead + 1
    bury(lane, 'delivered ' .. deliveries .. ' times', payload)
  elseif letter == 'S' then
    call('LPUSH', SEEDS, entry)
  elseif is_dead then
    enqueue(lane, LAST, entry, false)  -- it may kill the next worker
  else
    enqueue(lane, request.priority, entry, true)
  end
  return #payload
end

gen = tonumber(call('HGET', TOTALS, 'gen') or '')
