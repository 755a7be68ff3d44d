-- Releases slots under both limits.
--
-- KEYS[1]  sorted set: all slots
-- KEYS[2…] one per call: sorted set of the organization's slots
-- ARGV[…]  one per call: execution
-- Returns  one per call: 1 if the organization held it, else 0
-- Atomicity: all calls together; of each both sets change or none. With the wrong organization nothing is released.

local replies = {}
for index, execution in ipairs(ARGV) do
  local held = redis.call('ZREM', KEYS[index + 1], execution)
  if held == 1 then redis.call('ZREM', KEYS[1], execution) end
  replies[index] = held
end
return replies
