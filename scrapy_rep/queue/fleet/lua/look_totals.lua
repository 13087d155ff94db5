-- The counts of a crawl. KEYS: prefix.

local call, now = redis.call, clock()
local t = call('HMGET', P .. 't', 'n', 'fly', 'done', 'aside', 'taken_over', 'idle', 'full')
local first = call('ZRANGEBYSCORE', P .. 'due', '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
return cmsgpack.pack({
  now = now, epoch = call('GET', P .. 'epoch'), flushing = call('EXISTS', P .. 'flushing'),
  queued = t[1], flying = t[2], done = t[3], aside = t[4], taken_over = t[5], idle = t[6], full = t[7],
  lanes = call('HLEN', P .. 'lines'), seen = call('SCARD', P .. 'df'),
  due = call('ZCOUNT', P .. 'due', '-inf', now), later = call('ZCOUNT', P .. 'due', '(' .. now, '+inf'),
  next = first[2], unasked = call('ZCOUNT', P .. 'new', '-inf', now),
  waiting = call('ZCOUNT', P .. 'new', '(' .. now, '+inf'),
  workers = call('ZCARD', P .. 'w'), alive = call('ZCOUNT', P .. 'w', now, '+inf'),
  dying = call('SCARD', P .. 'dying'), letters = call('LLEN', P .. 'dead'),
  seeds = call('LLEN', P .. 'seeds'),
})
