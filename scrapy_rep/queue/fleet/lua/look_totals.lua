-- The counts of a crawl. KEYS: prefix.

local call, now = redis.call, clock()
local t = call('HMGET', P .. 't', 'n', 'fly', 'done', 'aside', 'taken_over', 'idle', 'full', 'order',
               'dropped')
local first = call('ZRANGEBYSCORE', P .. 'due', '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return cmsgpack.pack({
  now = now, epoch = call('GET', P .. 'epoch'), flushing = call('EXISTS', P .. 'flushing'),
  idle = t[6], full = t[7], next = first[2], order = t[8],
  queued = t[1], in_flight = t[2], done = t[3], seen = call('SCARD', P .. 'df'), set_aside = t[4],
  dead_letters = call('LLEN', P .. 'dead'), start_urls_given_back = call('LLEN', P .. 'seeds'),
  dropped = t[9],
  origins = call('HLEN', P .. 'lines'), due = call('ZCOUNT', P .. 'due', '-inf', now),
  due_later = call('ZCOUNT', P .. 'due', '(' .. now, '+inf'),
  unchecked = call('ZCOUNT', P .. 'new', '-inf', now),
  waiting = call('ZCOUNT', P .. 'new', '(' .. now, '+inf'),
  origins_dropped = math.max(0, call('HLEN', P .. 'dropped') - 1),
  workers = call('ZCOUNT', P .. 'w', now, '+inf'),
  workers_late = call('ZCOUNT', P .. 'w', '-inf', '(' .. now) + call('SCARD', P .. 'dying'),
  workers_taken_over = t[5],
})
