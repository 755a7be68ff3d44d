-- Deletes cached limits, and outdates every token issued so far.
--
-- KEYS[1]  hash: id, generation
-- KEYS[2]  set: organizations that may have slots or cached limits
-- KEYS[3…] texts: cached limits
-- ARGV[1]  key prefix of cached limits, to delete all of them; else absent
-- Returns  number of limits that were cached
-- Atomicity: no limit that was read before this is cached after it.
--            With ARGV[1] deletes keys that are not in KEYS: their names are in KEYS[2].

local call = redis.call
if call('EXISTS', KEYS[1]) == 1 then call('HINCRBY', KEYS[1], 'generation', 1) end
local deleted = 0
for index = 3, #KEYS do deleted = deleted + call('DEL', KEYS[index]) end
if ARGV[1] then
  for _, organization in ipairs(call('SMEMBERS', KEYS[2])) do
    deleted = deleted + call('DEL', ARGV[1] .. organization)
  end
end
return deleted
