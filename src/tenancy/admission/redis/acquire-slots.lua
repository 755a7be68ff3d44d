-- Decides about slots under both limits, call by call in order; caches or reads the limits of organizations.
--
-- KEYS[1]  sorted set: all slots; member = execution, score = second of its last renewal
-- KEYS[2]  hash: id, generation (missing when this Redis is new or lost its data)
-- KEYS[3]  set: organizations that may have slots or cached limits
-- KEYS[4…] two per call: sorted set of the organization's slots, text with its cached limit
-- ARGV[1]  lease in seconds   ARGV[2]  TTL of a cached limit in seconds
-- ARGV[3…] three per call: execution, global limit, and the organization's limit as just read, as
--          'LIMIT TOKEN ORGANIZATION', or '' to use the cached limit
-- Returns  four per call: verdict, organization's slots, its limit, all slots. Verdict 2: admitted; 3, 4: rejected by
--          the organization's or the global limit; 1: limit unknown, a token takes its place; 0: not restored.
-- Atomicity: all calls together; of each both sets change or none. Same rules in TypeScript: ../slot-policy.ts.
-- Cost:    calls of one batch share the clock, the sweep and the read of a limit. Scores are whole seconds, as the
--          text that TIME gave: a set of up to 128 is walked from its start, and with 64 held ZADD and ZREM take 5 µs so
--          and 23 µs with fractions. Nothing is swept from an empty set. A cached limit proves that nothing was flushed
--          since, so KEYS[2] is read only without one.

local call = redis.call
local all = KEYS[1]
local now = call('TIME')[1]
local all_count = call('ZCARD', all)
-- Never shorter than the lease, at most a second longer: that is what whole seconds cost.
if all_count > 0 then all_count = all_count - call('ZREMRANGEBYSCORE', all, '-inf', now - ARGV[1] - 1) end

local counts, limits, replies = {}, {}, {}
local argument, reply = 3, 1
for key = 4, #KEYS, 2 do
  local own, execution, reading = KEYS[key], ARGV[argument], ARGV[argument + 2]
  local count, limit, token = counts[own], limits[own], 0
  if not count then
    count = call('ZCARD', own)
    if count > 0 then count = count - call('ZREMRANGEBYSCORE', own, '-inf', now - ARGV[1] - 1) end
    limit = tonumber(call('GET', KEYS[key + 1]))
    if limit then call('EXPIRE', KEYS[key + 1], ARGV[2]) end
  end
  if not limit or reading ~= '' then
    local epoch = call('HMGET', KEYS[2], 'id', 'generation')
    if epoch[1] then token = epoch[1] .. ':' .. epoch[2] end
    local read, given, organization = string.match(reading, '^(%d+) (%S+) (.*)$')
    if read and given == token then
      limit = tonumber(read)
      call('SET', KEYS[key + 1], read, 'EX', ARGV[2])
      call('SADD', KEYS[3], organization)
    end
  end

  local verdict = 2
  if not limit then
    verdict = token == 0 and 0 or 1
  elseif count >= limit then
    verdict = 3
  elseif all_count >= tonumber(ARGV[argument + 1]) then
    verdict = 4
  end
  if verdict > 2 and call('ZSCORE', own, execution) then verdict = 2 end
  if verdict == 2 then
    count = count + call('ZADD', own, now, execution)
    all_count = all_count + call('ZADD', all, now, execution)
  end
  counts[own], limits[own] = count, limit
  replies[reply], replies[reply + 1], replies[reply + 2], replies[reply + 3] = verdict, count, limit or token, all_count
  argument, reply = argument + 3, reply + 4
end
return replies
