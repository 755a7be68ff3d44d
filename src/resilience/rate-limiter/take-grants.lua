-- One exchange between a limiter and the shared rate window: takes reports, returns grants.
--
-- KEYS[1]  list of grant times in microseconds, newest first
-- KEYS[2]  hash: multiplier, epoch, successes, total429, last429, ceiling, probe, paused, kept, offset,
--          last, settled, stepped
-- ARGV[1]  now in milliseconds, or '' for the server's own clock (always so in production)
-- ARGV[2]  wanted grants
-- ARGV[3]  1 when adaptive, else 0
-- ARGV[4]  successes        ARGV[5]  their epoch
-- ARGV[6]  429 responses    ARGV[7]  their newest epoch   ARGV[8]  longest Retry-After among them, ms
-- ARGV[9]  returned (unused) grants       ARGV[10]  their stamp
-- ARGV[11] comma-separated stamps of grants whose calls were sent late or are unsent: they count from now
-- ARGV[12…19]  increase, decrease, largest multiplier, successes per step, first probe, largest probe,
--              settling ms, TTL in ms
-- ARGV[20…]    triples: limit, window in ms, guard in ms added to every span
-- Returns  granted, wait in ms, stamp, multiplier, epoch, successes, total429, last429 ms, ceiling, probe, paused ms,
--          settled, stepped ms
--          (numbers with a fraction and times as text)
-- Atomicity: both keys change together or not at all; many processes share one rate and one backoff.
--            The same rules in TypeScript: policy.ts, memory-window.ts. One contract suite tests both.
-- Clock:   when the server's clock is set back, `offset` keeps the window's time monotonic.

local grants, state = KEYS[1], KEYS[2]
local wanted, adaptive = tonumber(ARGV[2]), ARGV[3] == '1'
local increase, decrease, largest = tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
local per_step, first_probe, largest_probe = tonumber(ARGV[15]), tonumber(ARGV[16]), tonumber(ARGV[17])
local settling = tonumber(ARGV[18]) * 1000

local stored = redis.call('HMGET', state, 'multiplier', 'epoch', 'successes', 'total429', 'last429', 'ceiling',
  'probe', 'paused', 'kept', 'offset', 'last', 'settled', 'stepped')
local function field(index, otherwise) return tonumber(stored[index] or otherwise) end
local multiplier, epoch, successes = field(1, 1), field(2, 0), field(3, 0)
local total429, last429, ceiling, probe = field(4, 0), field(5, 0), field(6, 0), field(7, first_probe)
local paused, kept, offset, last = field(8, 0), field(9, 0), field(10, 0), field(11, 0)
local settled, stepped = field(12, 1), field(13, 0)

local clock
if ARGV[1] == '' then
  local time = redis.call('TIME')
  clock = time[1] * 1000000 + time[2]
else
  clock = math.floor(tonumber(ARGV[1]) * 1000)
end
local now = clock + offset
if now < last then
  offset = offset + last - now
  now = last
end

-- Returned grants: as if they had never been given.
if tonumber(ARGV[9]) > 0 then redis.call('LREM', grants, tonumber(ARGV[9]), ARGV[10]) end

-- Grants of late and unsent calls (memory-window.ts, GrantRing.move)
local stamp = string.format('%.0f', now)
local moved = 0
for late in string.gmatch(ARGV[11], '[^,]+') do
  redis.call('LREM', grants, 1, late)
  redis.call('LPUSH', grants, stamp)
  moved = moved + 1
end

-- Successes (policy.ts, afterSuccesses)
if not adaptive then multiplier = 1 end
if tonumber(ARGV[4]) > 0 and tonumber(ARGV[5]) == epoch then
  successes = successes + tonumber(ARGV[4])
  while adaptive and multiplier > 1 do
    local slower = multiplier
    local next_multiplier = math.max(1, multiplier * decrease)
    local needed = per_step
    if next_multiplier <= ceiling then needed = probe end
    if successes < needed then break end
    if slower <= ceiling then probe = first_probe end
    if now - stepped >= settling then settled = multiplier end
    stepped = now
    successes = successes - needed
    multiplier = next_multiplier
  end
  if multiplier == 1 and successes >= probe then
    ceiling = 0
    probe = first_probe
  end
end

-- 429 responses (policy.ts, afterRateLimited)
if tonumber(ARGV[6]) > 0 then
  total429 = total429 + tonumber(ARGV[6])
  last429 = math.floor(clock / 1000)
  successes = 0
  if adaptive and tonumber(ARGV[7]) == epoch then
    if multiplier <= ceiling then probe = math.min(largest_probe, probe * 2) end
    if now - stepped >= settling then ceiling = multiplier else ceiling = settled end
    multiplier = math.min(largest, multiplier * increase)
    settled, stepped = multiplier, now
    epoch = epoch + 1
  end
end
if tonumber(ARGV[8]) > 0 then paused = math.max(paused, now + tonumber(ARGV[8]) * 1000) end

-- Windows slowed by the multiplier (policy.ts, effectiveWindow)
local windows = {}
for index = 20, #ARGV, 3 do
  local limit, window, guard = tonumber(ARGV[index]), tonumber(ARGV[index + 1]), tonumber(ARGV[index + 2]) * 1000
  local count = math.max(1, math.ceil(limit / multiplier - 1e-9))
  local span = math.max(window, math.ceil(window * count * multiplier / limit - 1e-6)) * 1000 + guard
  table.insert(windows, { count, span })
  kept = math.max(kept, limit)
end

local granted, ready = 0, now
if wanted > 0 and paused > now then ready = paused end
while granted < wanted and ready <= now do
  for _, window in ipairs(windows) do
    local earlier = redis.call('LINDEX', grants, window[1] - 1)
    if earlier then ready = math.max(ready, tonumber(earlier) + window[2]) end
  end
  if ready <= now then
    redis.call('LPUSH', grants, stamp)
    granted = granted + 1
  end
end

local ttl = tonumber(ARGV[19]) + math.max(0, math.ceil((paused - now) / 1000))
if granted + moved > 0 then
  redis.call('LTRIM', grants, 0, kept - 1)
  redis.call('PEXPIRE', grants, ttl)
end
redis.call('HSET', state, 'multiplier', string.format('%.17g', multiplier), 'epoch', epoch, 'successes', successes,
  'total429', total429, 'last429', string.format('%.0f', last429), 'ceiling', string.format('%.17g', ceiling),
  'probe', probe, 'paused', string.format('%.0f', paused), 'kept', kept, 'offset', string.format('%.0f', offset),
  'last', string.format('%.0f', now), 'settled', string.format('%.17g', settled),
  'stepped', string.format('%.0f', stepped))
redis.call('PEXPIRE', state, ttl)

local paused_until = 0
if paused > now then paused_until = math.ceil((clock + paused - now) / 1000) end
return { granted, math.ceil((ready - now) / 1000), stamp, string.format('%.17g', multiplier), epoch, successes,
  total429, string.format('%.0f', last429), string.format('%.17g', ceiling), probe,
  string.format('%.0f', paused_until), string.format('%.17g', settled), string.format('%.3f', stepped / 1000) }
