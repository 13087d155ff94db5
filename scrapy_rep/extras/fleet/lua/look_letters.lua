-- Some dead letters. KEYS: prefix. ARGV: the first, the last, and how many octets of each.

local found = {}
for _, packed in ipairs(redis.call('LRANGE', KEYS[1] .. 'dead', ARGV[1], ARGV[2])) do
  local letter = read(packed, LETTER) or blank(LETTER)
  local payload = string.sub(letter.payload, 1, ARGV[3])
  found[#found + 1] = {letter.lane, letter.reason, payload, letter.at}
end
return cmsgpack.pack(found)
