-- The counts of a crawl. KEYS: prefix.

local call, now = redis.call, clock()
local function of(name)
  return call('HGET', TOTALS, name)
end
local queued, flying = number(of('n')), number(of('fly'))
local owed = math.max(number(of('owed')), call('SCARD', P .. 'owed') - number(of('forgotten')))
local filtered = call('SCARD', P .. 'df')
local is_counting = call('EXISTS', P .. 'mend') == 1
local given_back = call('LLEN', P .. 'seeds')
local lost = is_counting and 0 or math.max(0, owed - queued - flying - given_back)
local next_due = call('ZRANGEBYSCORE', P .. 'due', '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return cmsgpack.pack({
  now = now, epoch = call('GET', P .. 'epoch'), flushing = call('EXISTS', P .. 'flushing'),
  idle = of('idle'), full = of('full'), next = next_due[2], order = of('order'), queued = queued,
  in_flight = flying, done = of('done'), seen = filtered + owed, set_aside = of('aside'),
  dead_letters = call('LLEN', P .. 'dead'), start_urls_given_back = given_back,
  dropped = of('dropped'), owed = owed, is_counting = is_counting, lost = lost,
  filter_lost = math.max(0, number(of('seen')) - filtered - call('SCARD', P .. 'starts')),
  origins = call('HLEN', P .. 'lines'), due = call('ZCOUNT', P .. 'due', '-inf', now),
  due_later = call('ZCOUNT', P .. 'due', '(' .. now, '+inf'),
  unchecked = call('ZCOUNT', P .. 'new', '-inf', now),
  waiting = call('ZCOUNT', P .. 'new', '(' .. now, '+inf'),
  origins_dropped = math.max(0, call('HLEN', P .. 'dropped') - 1),
  workers = call('ZCOUNT', P .. 'w', now, '+inf'),
  workers_late = call('ZCOUNT', P .. 'w', '-inf', '(' .. now) + call('SCARD', P .. 'dying'),
  workers_taken_over = of('taken_over'),
})
