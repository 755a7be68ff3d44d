-- Lists all held slots; removes expired slots and organizations without slots and cached limits.
--
-- KEYS[1]  sorted set: all slots
-- KEYS[2]  set: organizations that may have slots or cached limits
-- ARGV[1]  lease in seconds
-- ARGV[2]  key prefix of an organization's slots   ARGV[3]  key prefix of its cached limit
-- Returns  for each organization with slots: { its id, execution, … }
-- Atomicity: one consistent view. Reads keys that are not in KEYS: their names are in KEYS[2].
-- Clock:   after the server's clock was set back, renewals would lie in the future and leaked slots last as long as
--          that; such a slot counts as renewed now.

local call = redis.call
local now = call('TIME')[1]
local expired = now - ARGV[1] - 1

local function tidy(slots)
  call('ZREMRANGEBYSCORE', slots, '-inf', expired)
  for _, execution in ipairs(call('ZRANGEBYSCORE', slots, '(' .. now, '+inf')) do
    call('ZADD', slots, now, execution)
  end
end

tidy(KEYS[1])
local holders = {}
for _, organization in ipairs(call('SMEMBERS', KEYS[2])) do
  local own = ARGV[2] .. organization
  tidy(own)
  local held = call('ZRANGE', own, 0, -1)
  if #held > 0 then
    table.insert(held, 1, organization)
    holders[#holders + 1] = held
  elseif call('EXISTS', ARGV[3] .. organization) == 0 then
    call('SREM', KEYS[2], organization)
  end
end
return holders
