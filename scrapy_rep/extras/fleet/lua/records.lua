-- The records in Redis, and how they are read and written; prepended to other scripts.
--
-- A record is a msgpack list. Each table below has the names of its parts, in their order, and their
-- first values.

-- The state of a lane: its place; its `queued` requests; the `delay` between two, in ms; how many may
-- be under way at a time (`limit`); when `delay` and `limit` expire (`valid`); how many are `out` with
-- workers; the id of the request that closes it (`closer`), of the one that was `sent` last, and of
-- the one that closes it next (`next_closer`); when it is due (`at`); why it waits (`why`); the recount that includes it (`gen`); how many requests
-- `passed` those of the lowest priority, plus 1.
local LANE = {{'place', 'i'}, {'queued', 0}, {'delay', 0}, {'limit', 0}, {'valid', 0}, {'out', 0},
              {'closer', ''}, {'sent', ''}, {'at', 0}, {'why', ''}, {'next_closer', ''},
              {'gen', 0}, {'passed', 0}}
local REQUEST = {{'lane', ''}, {'priority', 0}, {'deliveries', 0}, {'payload', ''}}
local LETTER = {{'lane', ''}, {'reason', ''}, {'payload', ''}, {'at', 0}, {'is_whole', true}}

-- A new record.
local function blank(kind)
  local record = {}
  for _, part in ipairs(kind) do record[part[1]] = part[2] end
  return record
end

-- Read a record; nil without one, and for a value that no worker wrote.
local function read(packed, kind)
  if not packed then return nil end
  local is_read, values = pcall(cmsgpack.unpack, packed)
  if not is_read or type(values) ~= 'table' then return nil end
  local record = {}
  for number, part in ipairs(kind) do
    local value = values[number]
    if type(value) ~= type(part[2]) then return nil end
    if type(value) == 'number' and not (math.abs(value) < 1e15) then return nil end
    record[part[1]] = value
  end
  return record
end

local function pack(record, kind)
  local values = {}
  for number, part in ipairs(kind) do values[number] = record[part[1]] end
  return cmsgpack.pack(values)
end

