-- Counts costs in sliding windows of buckets, or corrects what was counted: one decision over all windows of a name.
--
-- KEYS[1]  hash: last, offset; per window W: W:newest, W:total, and W:0 … W:buckets, a ring of costs
-- ARGV[1]  now in milliseconds, or '' for the server's clock (always in production)
-- ARGV[2]  '' to count; 'peek' to count nothing; the stamp of an earlier count to correct it
-- ARGV[3…] five per window: name, limit, bucket in ms, buckets, cost (or the amount to add)
-- Returns  wait in ms (0: counted in every window, or with 'peek' it could be; otherwise in none), stamp, as text
-- Atomicity: all windows change together or not at all.
--            quota-counter.ts has the same rules in TypeScript; one test suite runs on both.
-- Clock:   when the server's clock is set back, `offset` keeps time from running backwards.

local key = KEYS[1]
local text = function(number) return string.format('%.0f', number) end

local clock
if ARGV[1] == '' then
  local time = redis.call('TIME')
  clock = time[1] * 1000 + time[2] / 1000
else
  clock = tonumber(ARGV[1])
end
local kept = redis.call('HMGET', key, 'last', 'offset')
local last, offset = tonumber(kept[1] or clock), tonumber(kept[2] or 0)
local now = clock + offset
if now < last then
  offset = offset + last - now
  now = last
end

-- Empties the buckets that have expired since the last call; returns the newest index and the total.
local function advance(window)
  local index = math.floor(now / window.bucket)
  local size = window.buckets + 1
  local stored = redis.call('HMGET', key, window.name .. ':newest', window.name .. ':total')
  local newest, total = tonumber(stored[1] or index - size), tonumber(stored[2] or 0)
  if newest >= index then return newest, total end
  local fields = {}
  for passed = math.max(newest + 1, index - size + 1), index do
    fields[#fields + 1] = window.name .. ':' .. text(passed % size)
  end
  for _, cost in ipairs(redis.call('HMGET', key, unpack(fields))) do
    if cost then total = total - tonumber(cost) end
  end
  redis.call('HDEL', key, unpack(fields))
  redis.call('HSET', key, window.name .. ':newest', text(index), window.name .. ':total', text(total))
  return index, total
end

local function add(window, amount, at)
  local index = math.floor(at / window.bucket)
  if index < window.newest - window.buckets then return end
  local field = window.name .. ':' .. text(index % (window.buckets + 1))
  local before = tonumber(redis.call('HGET', key, field) or 0)
  local after = math.max(0, before + amount)
  redis.call('HSET', key, field, text(after))
  redis.call('HINCRBY', key, window.name .. ':total', text(after - before))
end

local function wait(window)
  local needed, total = math.min(window.cost, math.max(window.limit, 1)), window.total
  if total + needed <= window.limit then return 0 end
  local fields = {}
  for index = window.newest - window.buckets, window.newest - 1 do
    fields[#fields + 1] = window.name .. ':' .. text(index % (window.buckets + 1))
  end
  local index = window.newest - window.buckets
  for _, cost in ipairs(redis.call('HMGET', key, unpack(fields))) do
    if cost then total = total - tonumber(cost) end
    if total + needed <= window.limit then break end
    index = index + 1
  end
  return math.max(1, math.ceil((index + window.buckets + 1) * window.bucket - now))
end

local windows, longest, waiting = {}, 0, 0
for at = 3, #ARGV, 5 do
  local window = { name = ARGV[at], limit = tonumber(ARGV[at + 1]), bucket = tonumber(ARGV[at + 2]),
    buckets = tonumber(ARGV[at + 3]), cost = tonumber(ARGV[at + 4]) }
  window.newest, window.total = advance(window)
  longest = math.max(longest, window.bucket * (window.buckets + 1))
  if ARGV[2] == '' or ARGV[2] == 'peek' then waiting = math.max(waiting, wait(window)) end
  windows[#windows + 1] = window
end

local stamp = now
if ARGV[2] ~= '' and ARGV[2] ~= 'peek' then stamp = tonumber(ARGV[2]) end
if waiting == 0 and ARGV[2] ~= 'peek' then
  for _, window in ipairs(windows) do add(window, window.cost, stamp) end
end

redis.call('HSET', key, 'last', string.format('%.3f', now), 'offset', string.format('%.3f', offset))
redis.call('PEXPIRE', key, text(math.ceil(longest)))
return { text(waiting), string.format('%.3f', stamp) }
