-- Frees slots in both layers.
--
-- KEYS[1]  sorted set: everybody's slots
-- KEYS[2…] one a call: sorted set of the organization's slots
-- ARGV[…]  one a call: execution
-- Returns  one a call: 1 if the organization held it, else 0
-- Atomicity: all calls together; of each both sets change or none. Whoever names another organization frees nothing.

local replies = {}
for index, execution in ipairs(ARGV) do
  local held = redis.call('ZREM', KEYS[index + 1], execution)
  if held == 1 then redis.call('ZREM', KEYS[1], execution) end
  replies[index] = held
end
return replies
