-- Records the heartbeat of a server, and counts the servers that are alive.
--
-- KEYS[1]  sorted set: servers; score = second of the last heartbeat
-- KEYS[2]  hash: id, generation (missing when this Redis is new or lost its data)
-- ARGV[1]  lease in seconds   ARGV[2]  server
-- Returns  number of servers alive; 0 without KEYS[2]: only a server that has restored its slots counts then
-- Atomicity: one consistent view, after the heartbeat. The key expires after two leases without heartbeats.

local call = redis.call
if call('EXISTS', KEYS[2]) == 0 then return 0 end
local now = call('TIME')[1]
call('ZADD', KEYS[1], now, ARGV[2])
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1] - 1)
call('EXPIRE', KEYS[1], 2 * ARGV[1])
return call('ZCARD', KEYS[1])
