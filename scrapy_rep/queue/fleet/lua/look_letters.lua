-- Some dead letters. KEYS: prefix. ARGV: the first, the last, and how many octets of each.

local found = {}
for _, packed in ipairs(redis.call('LRANGE', KEYS[1] .. 'dead', ARGV[1], ARGV[2])) do
  local is_read, letter = pcall(cmsgpack.unpack, packed)
  if not is_read or type(letter) ~= 'table' then letter = {} end
  if type(letter[3]) == 'string' then letter[3] = string.sub(letter[3], 1, ARGV[3]) end
  found[#found + 1] = {letter[1] or '', letter[2] or '', letter[3] or '', letter[4] or 0}
end
return cmsgpack.pack(found)
