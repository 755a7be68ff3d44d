-- Gives slots a new lease, takes those that are missing, and opens the door of a new Redis if it is told to.
--
-- KEYS[1]  sorted set: everybody's slots
-- KEYS[2]  set: organizations that may hold slots or cached limits
-- KEYS[3]  hash: id, generation
-- KEYS[4…] sorted set: an organization's slots, one key an organization
-- ARGV[1]  lease in seconds   ARGV[2]  1 to let others be admitted from now on, else 0
-- ARGV[3…] for each organization, in the order of the keys: its id, how many executions, the executions
-- Returns  1 if that opened the door, else 0; the executions that were missing or had run out
-- Atomicity: nobody is admitted between a flush and the last of the slots that are restored here.

local call = redis.call
local time = call('TIME')
local now = time[1]
local missing = {}

-- What had run out is missing in everybody's set from here on; the organization's own forgets it by ZADD.
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1] - 1)
local at = 3
for index = 4, #KEYS do
  local own = KEYS[index]
  call('SADD', KEYS[2], ARGV[at])
  local last = at + 1 + ARGV[at + 1]
  for position = at + 2, last do
    local execution = ARGV[position]
    if call('ZADD', own, now, execution) + call('ZADD', KEYS[1], now, execution) > 0 then
      missing[#missing + 1] = execution
    end
  end
  at = last + 1
end

-- The id tells readings of limits before a flush from those after it; a generation alone would start anew.
local opened = 0
if ARGV[2] == '1' and call('EXISTS', KEYS[3]) == 0 then
  opened = 1
  call('HSET', KEYS[3], 'id', string.format('%d%06d', time[1], time[2]), 'generation', 0)
end
return { opened, missing }
