-- Counts held slots, without expired ones.
--
-- KEYS[…]  sorted sets of slots
-- ARGV[1]  lease in seconds
-- Returns  the count of each
-- Atomicity: one consistent view. Read-only.

local expired = '(' .. (redis.call('TIME')[1] - ARGV[1] - 1)
local counts = {}
for index, slots in ipairs(KEYS) do counts[index] = redis.call('ZCOUNT', slots, expired, '+inf') end
return counts
