-- Counts the slots that are held, expired ones left out.
--
-- KEYS[…]  sorted sets of slots
-- ARGV[1]  lease in seconds
-- Returns  how many each holds
-- Atomicity: one moment's view. Changes nothing.

local expired = '(' .. (redis.call('TIME')[1] - ARGV[1] - 1)
local counts = {}
for index, slots in ipairs(KEYS) do counts[index] = redis.call('ZCOUNT', slots, expired, '+inf') end
return counts
