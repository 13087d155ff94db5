-- A step of the recount, which begins after an inconsistency was found; `books.lua` is prepended.
-- ARGV: the worker, and the lease. Returns whether there are more steps for this worker.
-- Cost: O(keys or lanes of the step + requests in flight).

if call('GET', P .. 'mending') ~= me or not call('GET', P .. 'mend') then
  return cmsgpack.pack({false, aside})
end
call('PEXPIRE', P .. 'mending', 10000)
if number(call('GET', P .. 'mend')) ~= gen then recount() end
local round = gen
local STEP = {{'round', 0}, {'phase', ''}, {'cursor', ''}}
local step = read(call('HGET', TOTALS, 'step'), STEP)
if not step or step.round ~= round then step = {phase = 'keys', cursor = '0'} end
local phase, cursor = step.phase, step.cursor

-- The workers' requests, and their number by lane

local has, out = {}, {}
local function look_into(owner)
  book(owner)
  local all = call('HGETALL', P .. 'f:' .. owner)
  for at = 1, #all, 2 do
    has[all[at]] = true
    local packed = all[at + 1]
    local request = string.sub(packed, 1, 1) == 'F' and read(string.sub(packed, 2), REQUEST)
    if request then out[request.lane] = (out[request.lane] or 0) + 1 end
  end
end

local function follow(owner)  -- an unknown worker gets a lease, and is taken over after it
  if call('ZSCORE', WORKERS, owner) or call('SISMEMBER', P .. 'dying', owner) == 1 then return end
  call('ZADD', WORKERS, now + a.lease_ms, owner)
  look_into(owner)
end

for _, owner in ipairs(call('ZRANGE', WORKERS, 0, -1)) do
  if tonumber(call('ZSCORE', WORKERS, owner)) > now + 86400000 then
    call('ZADD', WORKERS, now + a.lease_ms, owner)
  end
  look_into(owner)
end
for _, owner in ipairs(call('SMEMBERS', P .. 'dying')) do look_into(owner) end

local looked = {}
local function look_at(lane)
  if looked[lane] then return end
  looked[lane] = true
  local r = get(lane)
  local left = count(lane)
  queued, r.queued = queued + left - r.queued, left
  r.passed, r.out = math.max(1, r.passed), out[lane] or 0
  if r.next_closer ~= '' and not has[r.next_closer] then r.next_closer = '' end
  if r.closer ~= '' and not has[r.closer] then open(r, true) end  -- when it was sent is unknown
  r.at = math.min(r.at, now + 2 * r.delay + 60000)
  local check_at, is_due = call('ZSCORE', NEW, lane), call('ZSCORE', DUE, lane)
  if check_at and (is_due or tonumber(check_at) > now + 86400000) then
    call('ZREM', NEW, lane)
    check_at = false
  end
  r.place = check_at and 'n' or is_due and 'd' or 'i'
  place(lane, r)
end

-- The step

local found
if phase == 'keys' then
  local pattern = string.gsub(P, '([%*%?%[%]\\])', '\\%1') .. '[fmpq]*'
  found = redis.call('SCAN', cursor, 'MATCH', pattern, 'COUNT', 50)
  for _, key in ipairs(found[2]) do
    local name = string.sub(key, #P + 1)
    local owner = string.match(name, '^[fm]:(.*)$')
    local priority, lane = string.match(name, '^q(%-?%d*):(.*)$')
    if owner then
      follow(owner)
    elseif lane then
      if priority ~= '' then call('ZADD', P .. 'p:' .. lane, -tonumber(priority), priority) end
      look_at(lane)
    elseif string.sub(name, 1, 2) == 'p:' then
      look_at(string.sub(name, 3))
    end
  end
else
  found = call('HSCAN', LANES, cursor, 'COUNT', 50)
  for at = 1, #found[2], 2 do look_at(found[2][at]) end
end
write()

if found[1] == '0' then
  if phase == 'keys' then
    phase = 'lanes'
  elseif is_recounted then
    phase, round = 'keys', gen
  else
    phase = ''
    call('HSET', TOTALS, 'mended', now, 'stir', now)
    call('DEL', P .. 'mend', P .. 'mending')
  end
end
call('HSET', TOTALS, 'step', pack({round = round, phase = phase, cursor = found[1]}, STEP))
return cmsgpack.pack({phase ~= '', aside})
