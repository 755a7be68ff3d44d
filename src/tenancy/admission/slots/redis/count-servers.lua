-- Notes that a server is alive, and counts those that are.
--
-- KEYS[1]  sorted set: servers; score = second of the last sign of life
-- ARGV[1]  lease in seconds   ARGV[2]  server
-- Returns  how many are alive
-- Atomicity: one moment's view, after the note. Nothing is left when no server was heard of for two leases.

local call = redis.call
local now = call('TIME')[1]
call('ZADD', KEYS[1], now, ARGV[2])
call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1] - 1)
call('EXPIRE', KEYS[1], 2 * ARGV[1])
return call('ZCARD', KEYS[1])
