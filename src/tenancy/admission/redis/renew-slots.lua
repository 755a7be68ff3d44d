-- Extends the leases of slots, creates missing ones, and allows admissions in a new Redis if requested.
--
-- KEYS[1]  sorted set: all slots
-- KEYS[2]  set: organizations that may have slots or cached limits
-- KEYS[3]  hash: id, generation
-- KEYS[4…] sorted set: an organization's slots, one key per organization
-- ARGV[1]  lease in seconds   ARGV[2]  1 to allow admissions from now on, else 0
-- ARGV[3…] for each organization, in the order of the keys: its id, how many executions, the executions
-- Returns  1 if that allowed admissions, else 0; the executions that were missing or expired
-- Atomicity: no request is admitted between a flush and the last slot restored here.

local call = redis.call
local time = call('TIME')
local now = time[1]
local missing = {}

-- Expired slots count as missing; in the organization's set ZADD overwrites them.
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

-- The id distinguishes tokens issued before a flush from those after it; a generation alone would restart at 0.
local was_empty = 0
if ARGV[2] == '1' and call('EXISTS', KEYS[3]) == 0 then
  was_empty = 1
  call('HSET', KEYS[3], 'id', string.format('%d%06d', time[1], time[2]), 'generation', 0)
end
return { was_empty, missing }
