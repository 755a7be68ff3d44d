-- Extends the leases of slots and creates missing ones; in a Redis that is new or lost its data, allows admissions when all
-- servers have restored their slots.
--
-- KEYS[1]  sorted set: all slots
-- KEYS[2]  set: organizations that may have slots or cached limits
-- KEYS[3]  hash: id, generation
-- KEYS[4]  sorted set: servers; without KEYS[3], those that have restored their slots
-- KEYS[5…] sorted set: an organization's slots, one key per group
-- ARGV[1]  lease in seconds   ARGV[2]  1 to restore, 0 to renew only
-- ARGV[3]  the server that restores, or ''   ARGV[4]  number of servers to await, then these servers
-- ARGV[…]  one group per key, in the order of the keys: organization, the server that holds the slots and cannot restore
--          them itself (else ''), how many executions, the executions
-- Returns  1 if KEYS[3] was missing, else 0; 1 if requests are admitted now, else 0; the executions that were missing or
--          expired
-- Atomicity: no request is admitted between a flush and the last slot restored here.

local call = redis.call
local time = call('TIME')
local now = time[1]
local is_empty = call('EXISTS', KEYS[3]) == 0
local missing = {}

-- Expired slots count as missing; in the organization's set ZADD overwrites them.
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1] - 1)
local at = 5 + ARGV[4]
for index = 5, #KEYS do
  local own, holder = KEYS[index], ARGV[at + 1]
  local last = at + 2 + ARGV[at + 2]
  -- A holder that has just sent a heartbeat reaches Redis again: it restores and releases its slots itself.
  local heartbeat = holder ~= '' and tonumber(call('ZSCORE', KEYS[4], holder) or 0)
  if not heartbeat or heartbeat < now - 2 then
    call('SADD', KEYS[2], ARGV[at])
    for position = at + 3, last do
      local execution = ARGV[position]
      if call('ZADD', own, now, execution) + call('ZADD', KEYS[1], now, execution) > 0 then
        missing[#missing + 1] = execution
      end
    end
  end
  at = last + 1
end
if not is_empty then return { 0, 1, missing } end
if ARGV[2] == '0' then return { 1, 0, missing } end

if ARGV[3] ~= '' then
  call('ZADD', KEYS[4], now, ARGV[3])
  call('EXPIRE', KEYS[4], 2 * ARGV[1])
end
for position = 5, 4 + ARGV[4] do
  if not call('ZSCORE', KEYS[4], ARGV[position]) then return { 1, 0, missing } end
end
-- The id distinguishes tokens issued before a flush from those after it; a generation alone would restart at 0.
call('HSET', KEYS[3], 'id', string.format('%d%06d', time[1], time[2]), 'generation', 0)
return { 1, 1, missing }
