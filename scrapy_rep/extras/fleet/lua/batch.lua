-- One batch of a worker; `books.lua` is prepended. KEYS: prefix, key of start URLs.
-- ARGV: the worker's batch and wants (`batch_codec.py`).
--
-- Cost: O(log n) in the number of lanes for each push, pop and report. The caller bounds their
-- numbers, so that no run takes 2 ms.

-- Check that this is the Redis that the worker has joined, and that Redis knows the worker

local epoch, last_id = call('GET', P .. 'epoch'), call('GET', P .. 'ids')
local is_there = call('EXISTS', LANES, DUE, NEW, TOTALS) > 0  -- whether Redis holds any data of the crawl
local function answer(word, text)
  return cmsgpack.pack({word = word, epoch = text or epoch, aside = aside})
end

-- This worker was taken over, and the others have ended the crawl and deleted it.
if a.epoch ~= '' and call('GET', P .. 'over') == a.epoch then return answer('gone', '') end

-- Whether a worker holds a key, which it does for 10 s at most.
local function is_held(name)
  local left = call('PTTL', P .. name)
  if left == -1 or left > 10000 then call('PEXPIRE', P .. name, 10000) end  -- the clock was set back
  return left ~= -2
end

local AGAIN = 3  -- the kind of a push that Redis may have lost (`PushKind`)
-- The totals that workers bring back if Redis loses them, and when they heard them
local BOOKS = {{'now', 0}, {'owed', 0}, {'seen', 0}, {'done', 0}, {'dropped', 0}, {'dead', 0}, {'aside', 0},
               {'forgotten', 0}, {'roots', 0}}
local M = P .. 'm:' .. me
local attempt = tonumber(call('HGET', M, 'attempt') or '')
local is_older = number(last_id) < a.last_id or last_id and not tonumber(last_id)
  or a.is_joined and attempt and attempt < a.heard
-- Ids are never used twice, but the number of ids given since then is unknown.
if is_older then
  call('SET', P .. 'ids', string.format('%.0f', math.max(number(last_id), a.last_id) + 1000000))
end
if not epoch or is_older and epoch == a.epoch then
  epoch = table.concat(redis.call('TIME'), '.')
  call('SET', P .. 'epoch', epoch)
  call('HDEL', TOTALS, 'told', 'copied')
  if heard_at ~= 0 then call('HSET', TOTALS, 'copied', number(call('HGET', TOTALS, 'roots'))) end
  if is_there then recount() end
end

-- If the totals were lost, the worker that heard last knows them: then its word and the changes since
-- are right. In an older copy, requests are lost that were queued later, without a page that is fetched
-- again.
if heard_at == 0 then call('HSETNX', TOTALS, 'lost_at', now) end
local has_lost_all = a.epoch ~= '' and a.epoch ~= epoch
local packed, copied, lost_at = unpack(call('HMGET', TOTALS, 'told', 'copied', 'lost_at'))
local told, heard = read(packed, BOOKS) or blank(BOOKS), {}
for at, part in ipairs(BOOKS) do heard[part[1]] = a.books[at] or 0 end
local may_know = has_lost_all or heard_at == 0 or heard.now < number(lost_at)
if may_know and heard.now > told.now then
  if copied then heard.owed = math.max(0, math.min(heard.owed, heard.roots - number(copied))) end
  call('HSET', TOTALS, 'told', pack(heard, BOOKS))
  for at = 2, copied and 2 or #BOOKS do
    local name = BOOKS[at][1]
    call('HINCRBY', TOTALS, name, heard[name] - told[name])
  end
end
if has_lost_all then
  -- Times of visits are lost: this worker may have visited any site just now.
  call('SET', P .. 'renewed', now, 'PX', 86400000)
  return answer('epoch')
end

local is_new = not call('ZSCORE', WORKERS, me)
-- Unless only the list of workers was lost
if is_new and a.is_joined and (call('SISMEMBER', P .. 'dying', me) == 1 or call('EXISTS', M) == 0) then
  return answer('gone')
end
if is_new and not a.is_joined then
  if is_held('flushing') then return answer('wait') end
  local version = call('HGET', TOTALS, 'version')
  local is_first = call('ZCOUNT', WORKERS, now, '+inf') == 0 and a.last_id == 0
  local ended = call('HGET', TOTALS, 'ended')
  if is_first and (a.is_fresh or ended == 'clear') then return answer('flush') end
  if version and version ~= a.version then return answer('version', version) end
  local spider = call('HGET', TOTALS, 'spider')
  if spider and spider ~= a.spider then return answer('stranger', spider .. ', not to ' .. a.spider) end
  if is_first then
    if ended then  -- the next crawl begins with its start requests
      call('DEL', P .. 'starts')
      forget_lost()
    end
    if call('HGET', TOTALS, 'order') == 'stop' then call('HDEL', TOTALS, 'order') end
    local known = number(call('HGET', TOTALS, 'n')) + number(call('HGET', TOTALS, 'fly'))
    if owed() ~= known + call('LLEN', SEEDS) then recount() end
  end
  call('HDEL', TOTALS, 'ended')
  call('HSET', M, 'since', now, 'host', a.host)
end
if attempt and attempt >= a.attempt then return answer('late') end
call('HSET', M, 'attempt', a.attempt)
local silence = now - heard_at
if a.last_id > 0 and heard_at > 0 and silence > a.lease_ms / 2 then  -- Redis was out, for all workers
  for _, name in ipairs(call('ZRANGE', WORKERS, 0, -1)) do call('ZINCRBY', WORKERS, silence, name) end
end
call('ZADD', WORKERS, now + a.lease_ms, me)
local about = ''  -- of a worker that differs from this one, when it joins
if not a.is_joined then
  call('HSET', M, 'about', a.about)
  for _, name in ipairs(call('ZRANGEBYSCORE', WORKERS, now, '+inf', 'LIMIT', 0, 50)) do
    local other = call('HGET', P .. 'm:' .. name, 'about')
    if other and other ~= a.about then about = other end
  end
end
local booked_gen, stirred_at, mended_at, was_full, only_letters = unpack(call('HMGET', TOTALS,
  'f:' .. me, 'stir', 'mended', 'full', 'only_letters'))
if not gen and is_there then recount() end
if not gen then begin_count() end
call('HSET', TOTALS, 'now', now, 'shift', shift, 'version', a.version, 'spider', a.spider)
book(me, booked_gen)
if is_full then
  call('HSET', TOTALS, 'full', now)
elseif was_full then
  call('HDEL', TOTALS, 'full')
end
if is_full and #a.pushes > 0 then return answer('full') end

-- Workers with an expired lease

local expired = call('ZRANGEBYSCORE', WORKERS, '-inf', '(' .. now, 'LIMIT', 0, 1)[1]
if expired then
  call('ZREM', WORKERS, expired)
  call('SREM', P .. 'busy', expired)
  call('SADD', P .. 'dying', expired)
  call('HINCRBY', TOTALS, 'taken_over', 1)
end
local dying = call('SRANDMEMBER', P .. 'dying')
if dying then
  local octets, ids = 0, call('HKEYS', P .. 'f:' .. dying)
  for at = 1, math.min(#ids, a.most) do
    if octets < a.octets then octets = octets + give_back(dying, ids[at], true) end
  end
  if call('EXISTS', P .. 'f:' .. dying) == 0 then
    call('SREM', P .. 'dying', dying)
    call('DEL', P .. 'm:' .. dying)
    call('HDEL', TOTALS, 'f:' .. dying)
  end
end

-- A worker that comes back to an older copy: the requests that it does not know are queued again,
-- as are those in a lost reply; ids grow.

local F = P .. 'f:' .. me
if not a.is_joined or a.is_unsure then
  local known = {}
  for _, id in ipairs(a.known) do known[id] = true end
  for _, id in ipairs(call('HKEYS', F)) do
    local is_lost = a.is_joined and (tonumber(id) or 0) > a.last_id
    if is_lost or not a.is_joined and not known[id] then give_back(me, id, false) end
  end
end

-- The worker's batch: pushes first, so that a child is queued before its parent is done

local filtered = {}
if #a.pushes > 0 and call('HGET', M, 'batch') ~= tostring(a.number) then
  for number, push in ipairs(a.pushes) do
    local lane, priority, kind, token, body, is_root, id, deliveries, has_left, delay = unpack(push)
    local home = kind ~= AGAIN and HOMES[string.sub(token, 1, 1)]
    local is_new = not (home and call('SISMEMBER', home, token) == 1) and accept(token, kind == AGAIN)
    if is_new and is_root then counts.roots = counts.roots + 1 end
    if not is_new and kind ~= AGAIN then
      filtered[#filtered + 1] = number
    elseif id then  -- the worker has it: it is kept, or Redis may have lost it
      local letter = body == '' and 'K' or lane == '' and 'S' or 'F'
      local request = {lane = lane, priority = priority, deliveries = deliveries,
                       payload = joined(token, body)}
      if call('HSETNX', F, id, letter .. pack(request, REQUEST)) == 1 then
        flying = flying + 1
        if lane ~= '' then
          local r = get(lane)
          r.out = r.out + 1
          r.delay = math.max(r.delay, delay)
          if has_left then r.sent = id elseif delay > 0 then r.closer = id end
          place(lane, r)
        end
      end
    else
      enqueue(lane, priority, '\0' .. joined(token, body), false)
    end
  end
  call('HSET', M, 'batch', a.number)
end

for _, report in ipairs(a.left) do
  local id, lane, age = unpack(report)  -- the age in ms
  local r, packed = get(lane), call('HGET', F, id)
  if packed and string.sub(packed, 1, 1) == 'F' then
    call('HSET', F, id, 'A' .. string.sub(packed, 2))
    r.out = math.max(0, r.out - 1)
  end
  if r.closer == id or r.sent == id then
    if r.closer == id then open(r) end
    r.sent = id
    r.at = now - age + r.delay
  end
  place(lane, r)
end

-- Requests that some workers refused, because they do not know the callback, say: each worker gets
-- such a request once. `refused`: SHA-1 of the entry -> why, and the workers that refused it.
local REFUSED = P .. 'refused'
local REFUSAL = {{'why', ''}, {'workers', {}}}
local has_refused = call('EXISTS', REFUSED) == 1

local function refusal(payload)
  local digest = redis.sha1hex(payload)
  return digest, read(call('HGET', REFUSED, digest), REFUSAL)
end

-- Set a request aside that all workers have refused; return whether it was set aside.
local function give_up(lane, payload, digest, found)
  for _, name in ipairs(call('ZRANGEBYSCORE', WORKERS, now, '+inf')) do
    if not found.workers[name] then return false end
  end
  call('HDEL', REFUSED, digest)
  set_aside(lane, found.why, payload)
  return true
end

local function refuse(request, why)
  local lane, payload = request.lane, request.payload
  local digest, found = refusal(payload)
  found = found or {why = why, workers = {}}
  found.workers[me] = true
  if give_up(lane, payload, digest, found) then return end
  has_refused = true
  call('HSET', REFUSED, digest, pack(found, REFUSAL))
  enqueue(lane, LAST, string.char(math.max(0, request.deliveries - 1)) .. payload, false)
end

for _, report in ipairs(a.ended) do
  local id, how, token = report[1], report[2], report[3]
  -- how: whether the site may have seen it; or why it is refused; or nil if it is given back
  if how == nil then
    give_back(me, id, false)
  else
    local letter, request = taken(me, id)
    if letter then
      release(letter, request, id, how == true)
      token = parts(request.payload)
      if type(how) == 'string' then
        if letter == 'S' then set_aside('', how, request.payload) else refuse(request, how) end
      elseif letter ~= 'T' then
        if close(token) and letter ~= 'S' then counts.done = counts.done + 1 end
        if has_refused then call('HDEL', REFUSED, redis.sha1hex(request.payload)) end
      end
    elseif type(how) == 'boolean' and token ~= '' and close(token) then  -- Redis has lost it
      counts.done = counts.done + 1
    end
  end
end

for _, report in ipairs(a.settled) do
  local lane, wait, delay, limit, valid, age, reason = unpack(report)
  local r = get(lane)
  r.why = reason
  r.valid = wait < 0 and now + valid or 0
  if wait < 0 then r.delay, r.limit = delay, limit end
  if age >= 0 and delay > 0 then r.at = math.max(r.at, now - age + delay) end
  place(lane, r)
  if wait >= 0 and r.place == 'n' then call('ZADD', NEW, now + wait, lane) end
end

-- Rests after refusals. After a rest, one worker at a time has the first request of its lane, as long
-- as it says so; 5 s after its last word, another request may go first.

local RESTS, RESTED = P .. 'rests', P .. 'rested'
local FIRST, FIRST_UNTIL = P .. 'first', P .. 'first_until'
-- As in `Rest` of the workers, with times in ms of the crawl's clock.
local REST = {{'until_at', 0}, {'since_at', 0}, {'given_up_until', 0}, {'doublings', 0},
              {'seconds', 0}, {'retry_after_seconds', 0}, {'url', ''}, {'status', 0}, {'count', 0},
              {'service', ''}, {'challenges', 0}}

local function ends_at(rest)
  return math.max(rest.until_at, rest.given_up_until)
end
local function rest_of(lane)  -- nil if it ended so long ago that it says nothing
  local rest = read(call('HGET', RESTS, lane), REST)
  return rest and ends_at(rest) + 1000 * rest.seconds >= now and rest or nil
end
local function move(rest, ms)  -- move all times of a rest
  rest.until_at, rest.since_at = rest.until_at + ms, rest.since_at + ms
  rest.given_up_until = rest.given_up_until ~= 0 and rest.given_up_until + ms or 0
end
local function forget_first(lane)
  call('HDEL', FIRST, lane)
  call('ZREM', FIRST_UNTIL, lane)
end

for _, report in ipairs(a.rests) do
  local lane, age, rest = unpack(report)  -- how long ago its request was sent; a rest or false
  local known, is_news = rest_of(lane), true
  if rest then move(rest, now) end
  -- Only the first request after a rest can end it; others can only make it longer.
  if known and now - age < known.until_at and call('HGET', FIRST, lane) ~= me then
    is_news = rest and rest.until_at > known.until_at
    if is_news then rest.since_at, rest.doublings = known.since_at, known.doublings end
  end
  if is_news then
    local last = call('ZREVRANGE', RESTED, 0, 0, 'WITHSCORES')[2]
    call('ZADD', RESTED, math.max(now, number(last) + 1), lane)
    if rest then call('HSET', RESTS, lane, pack(rest, REST)) else call('HDEL', RESTS, lane) end
    forget_first(lane)
    for _, old in ipairs(call('ZRANGEBYSCORE', RESTED, '-inf', now - 86400000, 'LIMIT', 0, 100)) do
      call('HDEL', RESTS, old)
      call('ZREM', RESTED, old)
    end
  end
end

local silent = call('ZRANGEBYSCORE', FIRST_UNTIL, '-inf', '(' .. now, 'LIMIT', 0, 1)[1]
if silent then
  forget_first(silent)
  local r = get(silent)
  r.out = 0
  if r.closer ~= '' then open(r, true) end
  place(silent, r)
end

local probes = {}
for _, probe in ipairs(a.probes) do
  local lane, is_wanted = unpack(probe)  -- whether the worker has, or wants, its first request
  local holder = call('ZSCORE', FIRST_UNTIL, lane) and call('HGET', FIRST, lane)
  local rest = rest_of(lane)
  if not is_wanted then
    if holder == me then forget_first(lane) end
  elseif holder == me or not holder and not (rest and ends_at(rest) > now) then
    call('HSET', FIRST, lane, me)
    call('ZADD', FIRST_UNTIL, now + 5000, lane)
    probes[#probes + 1] = lane
  end
end

local rests, rests_seen = {}, a.rests_seen
local news = call('ZRANGEBYSCORE', RESTED, '(' .. string.format('%.0f', rests_seen), '+inf',
  'WITHSCORES', 'LIMIT', 0, 50)
for at = 1, #news, 2 do
  local rest = rest_of(news[at])
  if rest then move(rest, -now) end
  rests[#rests + 1] = {news[at], rest or false}
  rests_seen = number(news[at + 1])
end

-- The reply for the worker

-- One second is added for workers that come back late with their requests.
local renewed = call('GET', P .. 'renewed')
renewed = renewed and math.min(number(renewed), now) + 1000 or -1e15

-- Turns for requests that were not queued: a turn closes its lane like a popped request.
local turns = {}
for _, wish in ipairs(a.turns) do  -- key, lane, delay in ms
  local key, lane, delay = unpack(wish)
  local id, r = me .. '#' .. key, get(lane)
  if r.valid <= now then r.delay = math.max(r.delay, delay) end
  if r.closer ~= id and r.next_closer == '' then
    r.next_closer = id
    call('HSET', F, id, 'T' .. pack({lane = lane, priority = 0, deliveries = 1, payload = ''}, REQUEST))
  end
  if r.closer == '' then open(r) end
  place(lane, r)
  local at = math.max(r.at, renewed + r.delay)
  turns[#turns + 1] = {key, id, lane, r.closer == id and math.max(0, at - now) or -1, r.delay}
end

local to_check = {}
local octets = 0  -- of the reply
if a.lanes > 0 then
  for _, lane in ipairs(call('ZRANGEBYSCORE', NEW, '-inf', now, 'LIMIT', 0, a.lanes)) do
    local r = get(lane)
    if r.place ~= 'n' then
      call('ZREM', NEW, lane)
      place(lane, r)
    else
      call('ZADD', NEW, now + a.lease_ms, lane)
      local sample = call('LINDEX', list_of(lane, best_priority(lane)), 0)
      local _, body = parts(string.sub(sample or '', 2))
      if #body > a.longest or octets >= a.octets then body = '' end
      octets = octets + #body
      to_check[#to_check + 1] = {lane, body, r.delay == 0 and r.at <= now}
    end
  end
end

-- A suspect is a request during which a worker was lost. A worker gets one suspect at a time, so
-- that harmless requests do not become dead letters together with the one that kills workers.
local suspect = call('HGET', M, 'suspect')
local has_suspect = suspect and call('HEXISTS', F, suspect) == 1

-- Whether this worker may get the first request of the lowest priority. If all refused it, it goes.
local function may_try(lane, r, priority)
  local first = call('LINDEX', list_of(lane, LAST), 0)
  if not first then
    r.passed = 0
    return priority == LAST  -- another program changed the list
  end
  if has_suspect and (string.byte(first, 1) or 0) > 0 then return false end
  if not has_refused then return true end
  local payload = string.sub(first, 2)
  local digest, found = refusal(payload)
  if not found or not found.workers[me] then return true end
  if give_up(lane, payload, digest, found) then dequeue(lane, r, LAST) end
  return false
end

local function give(letter, lane, priority, entry)
  local id = string.format('%.0f', call('INCR', P .. 'ids'))
  local deliveries, payload = (string.byte(entry, 1) or 0) + 1, string.sub(entry, 2)
  octets = octets + #payload
  local request = {lane = lane, priority = priority, deliveries = deliveries, payload = payload}
  call('HSET', F, id, letter .. pack(request, REQUEST))
  flying = flying + 1
  local token, body = parts(payload)
  return id, deliveries, token, body
end

-- A request is given out `a.ahead_ms` before it is due, with the time that its worker must keep it,
-- so that the batch does not delay it. Its lane is closed until then.
local function pop(lane, r, priority)
  local entry = dequeue(lane, r, priority)
  local _, all = parts(string.sub(entry or '', 2))
  if #all > a.longest then  -- not written by a worker
    set_aside(lane, #all .. ' octets, of which these are the first', string.sub(entry, 2), true)
  elseif entry then
    local id, deliveries, token, body = give('F', lane, priority, entry)
    r.out = r.out + 1
    if rest_of(lane) then call('ZADD', FIRST_UNTIL, 'NX', now + 5000, lane) end
    if r.delay > 0 then r.closer = id end
    if deliveries > 1 then
      has_suspect = true
      call('HSET', M, 'suspect', id)
    end
    local wait = r.at - now < 1 and 0 or math.ceil(r.at - now)
    return {id, lane, r.delay, deliveries, body, token, wait}
  end
end

local pops = {}
for _ = 1, 4 * a.requests do
  local lane = #pops < a.requests and octets < a.octets
    and call('ZRANGEBYSCORE', DUE, '-inf', now + a.ahead_ms + 0.9, 'LIMIT', 0, 1)[1]
  if not lane then break end
  local r = get(lane)
  if r.place ~= 'd' then
    call('ZREM', DUE, lane)
    place(lane, r)
  elseif r.valid <= now then
    place(lane, r)  -- its policy has expired
  elseif r.delay > 0 and now < renewed + r.delay then
    r.at = renewed + r.delay
    place(lane, r)
  else
    local priority = best_priority(lane)
    local is_turn = priority == LAST or r.passed > PATIENCE
    local may = is_turn and may_try(lane, r, priority)
    if priority == LAST and not may then
      r.at = now + 100  -- another worker may take it first
    else
      pops[#pops + 1] = pop(lane, r, may and LAST or priority)
      r.at = math.max(r.at, now + #pops * 0.001)  -- after the other lanes
    end
    place(lane, r)
  end
end

local seeds, key = {}, KEYS[2]
local kinds = {list = {'LPOP', 'LLEN'}, set = {'SPOP', 'SCARD'}, zset = {'ZPOPMAX', 'ZCARD'}}
local commands = kinds[call('TYPE', key).ok] or {}
for _ = #pops + 1, math.min(a.requests, #pops + a.seeds) do
  if octets >= a.octets then break end
  local seed = call('LPOP', SEEDS)
  if not seed then
    local data = commands[1] and call(commands[1], key)
    if type(data) == 'table' then data = data[1] end  -- with its score
    if data then
      local token = string.format('1%.0f', call('INCR', P .. 'ids'))
      accept(token)
      seed = '\0' .. joined(token, data)
    end
  end
  if not seed then break end
  local id, deliveries, token, data = give('S', '', 0, seed)
  seeds[#seeds + 1] = {id, '', 0, deliveries, data, token, 0}
end

if a.leaves then
  for _, id in ipairs(call('HKEYS', F)) do give_back(me, id, false) end
  call('ZREM', WORKERS, me)
  call('SREM', P .. 'busy', me)
  call('DEL', F, M)
  call('HDEL', TOTALS, 'f:' .. me)
else
  call(a.is_busy and 'SADD' or 'SREM', P .. 'busy', me)
  if counts.done > 0 then call('HINCRBY', M, 'done', counts.done) end
end
local seeds_left = call('LLEN', SEEDS) + (commands[2] and call(commands[2], key) or 0)

local is_moved = queued ~= 0 or flying ~= 0 or counts.done ~= 0
local n, fly = write()

local next_ms = math.huge  -- until a lane is due, or needs a policy
for key, early in pairs({[DUE] = a.ahead_ms, [NEW] = 0}) do
  local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  if first then next_ms = math.min(next_ms, math.max(0, tonumber(first) - now - early)) end
end

-- Consistency checks: a lane that waits for nothing would wait forever, and so may a stuck crawl.

local still, mended = now - number(stirred_at), now - number(mended_at)
if is_moved or not stirred_at then
  call('HSET', TOTALS, 'stir', now)
  still = 0
end
local waits_for_nothing = fly == 0 and next_ms == math.huge and still > 2000 and mended > a.lease_ms
local is_still = still > a.lease_ms and mended > 10 * a.lease_ms
local is_stuck = (waits_for_nothing or is_still) and n + fly > 0 and call('SCARD', P .. 'dying') == 0
local mend = call('GET', P .. 'mend')
if not mend and (is_stuck or n < 0 or fly < 0) then
  touched, booked = {}, {}  -- they are written
  recount()
  mend = gen
end
local is_mender = mend and not is_held('mending') and not a.leaves
if is_mender then call('SET', P .. 'mending', me, 'PX', 10000) end
if is_mender then call('HDEL', TOTALS, 'step') end  -- Redis may have restarted since

-- The end of the crawl: only here it is decided whether the crawl is cleared. It is kept unless it
-- ended by itself: the last worker had nothing to stop it, nothing is left, and no letter is dead.

local word, idle, lost = 'ok', -1, 0
local workers, letters = call('ZCOUNT', WORKERS, now, '+inf'), call('LLEN', DEAD)
if n <= 0 and fly <= 0 and not mend and call('SCARD', P .. 'busy') == 0 then
  call('HSETNX', TOTALS, 'idle', now)
  idle = math.max(0, now - number(call('HGET', TOTALS, 'idle')))
  lost = math.max(0, owed() - call('LLEN', SEEDS))
  if a.leaves and seeds_left == 0 then
    local is_over = a.flushes and letters == 0
    call('HSET', TOTALS, 'ended', is_over and 'clear' or 'keep')
    call('HDEL', TOTALS, 'only_letters')
    if is_over and workers == 0 then
      word = 'flush'
      call('SET', P .. 'flushing', me, 'PX', 10000)
    end
  end
else
  call('HDEL', TOTALS, 'idle', 'ended')
end

local books = {}
for at, part in ipairs(BOOKS) do books[at] = number(call('HGET', TOTALS, part[1])) end

local changed_at = call('HGET', DROPPED, '') or ''  -- also says whether the worker knows them
return cmsgpack.pack({
  word = word, epoch = epoch, last_id = number(call('GET', P .. 'ids')), queued = n, flying = fly,
  idle_ms = idle >= 0 and idle or nil, workers = workers, aside = aside, about = about,
  next_ms = next_ms < math.huge and math.ceil(math.min(next_ms, 86400000)) or nil, popped = pops,
  to_check = to_check, filtered = filtered, seeds = seeds, seeds_left = seeds_left,
  dead = counts.dead, letters = letters, turns = turns, is_mender = is_mender and true,
  is_full = is_full, only_letters = only_letters and true, rests = rests, rests_seen = rests_seen,
  probes = probes, books = books, lost = lost, filter_lost = math.max(0, total('seen', 0) - seen_tokens()), is_counting = mend and true,
  order = call('HGET', TOTALS, 'order') or '', dropped_at = changed_at,
  dropped = changed_at ~= '' and changed_at ~= a.dropped_at and call('HGETALL', DROPPED) or nil,
})
