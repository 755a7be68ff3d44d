-- One exchange between a limiter and the shared rate window: takes reports, returns grants.
--
-- KEYS[1]  list of grant times in microseconds, newest first
-- KEYS[2]  hash: the fields of the backoff (policy in backoff.ts), and paused, kept, offset, last
-- ARGV[1]  now in milliseconds, or '' for the server's own clock (always so in production)
-- ARGV[2]  wanted grants
-- ARGV[3]  1 when adaptive, else 0
-- ARGV[4]  successes        ARGV[5]  those of their newest epoch   ARGV[6]  that epoch
-- ARGV[7]  429 responses    ARGV[8]  their newest epoch            ARGV[9]  longest Retry-After among them, ms
-- ARGV[10] returned (unused) grants       ARGV[11]  their stamp
-- ARGV[12] comma-separated stamps of grants whose calls were sent late or are unsent: they count from now
-- ARGV[13] JSON: { adaptation, initial, fields, ttl_ms, spacing_ms }: constants and the backoff at the beginning
-- ARGV[14] 1 to reset the backoff first, else 0
-- ARGV[15…]    triples: limit, window in ms, guard in ms added to every span
-- Returns  granted, wait in ms, stamp, paused ms, then the fields of the backoff in their order, as text
-- Atomicity: both keys change together or not at all; many processes share one rate and one backoff.
--            The same rules in TypeScript: backoff.ts, policy.ts, memory-window.ts. One contract suite tests both.
-- Clock:   when the server's clock is set back, `offset` keeps the window's time monotonic.

local grants, state = KEYS[1], KEYS[2]
local wanted, adaptive = tonumber(ARGV[2]), ARGV[3] == '1'
local config = cjson.decode(ARGV[13])
local rules, fields = config.adaptation, config.fields
local steady, raised, probing = 0, 1, 2

local stored = redis.call('HMGET', state, 'paused', 'kept', 'offset', 'last', unpack(fields))
local function field(index, otherwise) return tonumber(stored[index] or otherwise) end
local paused, kept, offset, last = field(1, 0), field(2, 0), field(3, 0), field(4, 0)
local backoff = {}
for index, name in ipairs(fields) do backoff[name] = field(index + 4, config.initial[name]) end

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
if tonumber(ARGV[10]) > 0 then redis.call('LREM', grants, tonumber(ARGV[10]), ARGV[11]) end

-- Grants of late and unsent calls (memory-window.ts, GrantRing.move)
local stamp = string.format('%.0f', now)
local moved = 0
for late in string.gmatch(ARGV[12], '[^,]+') do
  redis.call('LREM', grants, 1, late)
  redis.call('LPUSH', grants, stamp)
  moved = moved + 1
end

-- The backoff: each function as in backoff.ts
local wall = math.floor(clock / 1000)

local function reset()
  local kept_fields = { epoch = backoff.epoch + 1, total429 = backoff.total429, last429At = backoff.last429At }
  for _, name in ipairs(fields) do backoff[name] = kept_fields[name] or config.initial[name] end
end
if ARGV[14] == '1' then reset() end

local function log_likelihood(rejected, calls)
  local sum = 0
  for _, count in ipairs({ rejected, calls - rejected }) do
    if count > 0 then sum = sum + count * math.log(count / calls) end
  end
  return sum
end

local function more_rejected(rejected, calls, others, other_calls)
  if calls == 0 or other_calls == 0 or rejected * other_calls <= others * calls then return 0 end
  return log_likelihood(rejected, calls) + log_likelihood(others, other_calls)
    - log_likelihood(rejected + others, calls + other_calls)
end

local function is_slower() return backoff.multiplier >= backoff.learned * rules.slower end

local function totals()
  return math.max(1, backoff.fullCalls + backoff.slowCalls), backoff.full429 + backoff.slow429
end

local function set_learned(learned, phase)
  local is_at_pace = backoff.multiplier <= backoff.learned
  backoff.learned = math.min(rules.maxMultiplier, learned)
  backoff.multiplier = is_at_pace and backoff.learned or math.max(backoff.learned, backoff.multiplier)
  backoff.phase, backoff.changedAt, backoff.successes, backoff.alarm = phase, wall, 0, 0
  backoff.fullCalls, backoff.full429, backoff.slowCalls, backoff.slow429 = 0, 0, 0, 0
end

local function try_learned(learned, phase)
  local calls, rejected = totals()
  backoff.previousLearned, backoff.previousCalls, backoff.previous429 = backoff.learned, calls, rejected
  set_learned(learned, phase)
end

local function expire()
  if backoff.learned == 1 and backoff.toleratedShare == 0 then return end
  local age = wall - backoff.raisedAt
  if age >= 0 and age <= rules.expiryMs then return end
  set_learned(1, steady)
  backoff.probeSuccesses, backoff.toleratedShare, backoff.raisedAt = rules.firstProbeSuccesses, 0, wall
end

local function fail_probe()
  backoff.probeSuccesses = math.min(rules.largestProbeSuccesses, backoff.probeSuccesses * 2)
  set_learned(backoff.previousLearned, steady)
end

local function previous_share() return backoff.previous429 / math.max(1, backoff.previousCalls) end

local function slower_helps()
  return more_rejected(backoff.full429, backoff.fullCalls, backoff.slow429, backoff.slowCalls)
end

local function tolerate()
  local calls, rejected = totals()
  backoff.toleratedShare = math.min(rules.largestTolerated, rejected / calls)
  set_learned(backoff.previousLearned, steady)
end

local function judge()
  local age = wall - backoff.changedAt
  if backoff.successes < rules.firstProbeSuccesses or age < rules.settlingMs then return end
  local calls, rejected = totals()
  local share, before = rejected / calls, previous_share()
  if backoff.phase == raised then
    if share > rules.cleanShare and share >= rules.unchanged * before then return tolerate() end
    if age < 2 * rules.settlingMs then return end
  end
  if backoff.phase == probing then
    if share > math.max(rules.cleanShare, 1.5 * math.max(before, backoff.toleratedShare)) then return fail_probe() end
    backoff.probeSuccesses = rules.firstProbeSuccesses
    if share > 4 * rules.cleanShare then backoff.toleratedShare = math.min(rules.largestTolerated, share) end
  end
  backoff.phase = steady
  if backoff.learned == 1 then return end
  local is_proven = backoff.full429 <= rules.cleanShare * backoff.fullCalls
    and backoff.fullCalls >= backoff.probeSuccesses
  local is_usual = share <= 1.5 * backoff.toleratedShare and slower_helps() < 1
  if is_proven or backoff.successes >= (is_usual and 1 or rules.unprovenFactor) * backoff.probeSuccesses then
    try_learned(math.max(1, backoff.learned * rules.decrease), probing)
  end
end

local function learn()
  local calls, rejected = totals()
  local share = rejected / calls
  local is_alarm = backoff.alarm >= rules.alarmAt
  local is_long = backoff.isBurstRepeated == 1 and wall - backoff.burstAt > rules.longBurstMs
  if backoff.phase == probing then
    local evidence = more_rejected(rejected, calls, backoff.previous429, backoff.previousCalls)
    if is_alarm or is_long or evidence >= rules.evidence then fail_probe() end
    return
  end
  local is_raised = backoff.phase == raised
  local helps = slower_helps() >= rules.evidence
  local is_never_reached = backoff.slowCalls >= 2 * rules.firstProbeSuccesses
    and backoff.fullCalls < backoff.slowCalls / 10
  local is_new = share > 1.5 * backoff.toleratedShare
  if not is_alarm and not (is_new and (is_long or (not is_raised and (helps or is_never_reached)))) then return end
  backoff.raisedAt = wall
  local learned = backoff.learned * (helps and not is_long and rules.raise or rules.increase)
  if not is_raised then return try_learned(learned, raised) end
  local is_unchanged
  if is_long then
    is_unchanged = learned > backoff.previousLearned * rules.largestRaise
  else
    is_unchanged = calls >= rules.firstProbeSuccesses / 2 and share >= previous_share()
  end
  if is_unchanged then tolerate() else set_learned(learned, raised) end
end

local function lower_alarm()
  local expected = math.max(rules.toleratedShare, 1.3 * backoff.toleratedShare)
  local per_success = math.log((1 - math.min(0.8, 4 * expected)) / (1 - math.min(0.5, expected)))
  backoff.alarm = math.max(0, backoff.alarm + per_success)
end

local function succeed()
  backoff.successes = backoff.successes + 1
  backoff.consecutiveSuccesses = backoff.consecutiveSuccesses + 1
  lower_alarm()
  if not adaptive then return end
  if backoff.consecutive429 > 0 then
    backoff.multiplier = math.min(backoff.multiplier, backoff.learned * rules.increase)
  end
  backoff.consecutive429 = 0
  local calls = is_slower() and 'slowCalls' or 'fullCalls'
  backoff[calls] = backoff[calls] + 1
  if backoff.multiplier > backoff.learned and backoff.consecutiveSuccesses >= rules.successesPerStep then
    backoff.consecutiveSuccesses = backoff.consecutiveSuccesses - rules.successesPerStep
    backoff.multiplier = math.max(backoff.learned, backoff.multiplier * rules.decrease)
  end
  judge()
end

local function reject(count, is_current, last_429_at)
  local is_first = is_current and backoff.consecutive429 == 0
  if is_first then
    backoff.burstAt = wall
    backoff.isBurstRepeated = wall - last_429_at <= rules.repeatedBurstMs and 1 or 0
    backoff.isBurstSlow = is_slower() and 1 or 0
    backoff.alarm = backoff.alarm + rules.alarmPer429
  end
  local is_evidence = is_first or backoff.changedAt < backoff.burstAt
  if is_evidence then
    local pace = backoff.isBurstSlow == 1 and 'slow' or 'full'
    backoff[pace .. 'Calls'] = backoff[pace .. 'Calls'] + count
    backoff[pace .. '429'] = backoff[pace .. '429'] + count
  end
  if not is_current then return end
  backoff.consecutive429 = backoff.consecutive429 + 1
  backoff.epoch = backoff.epoch + 1
  if is_evidence then learn() end
  local burst = backoff.learned * rules.increase ^ backoff.consecutive429
  backoff.multiplier = math.min(rules.maxMultiplier, math.max(backoff.multiplier, burst))
end

if not adaptive then backoff.multiplier, backoff.learned = 1, 1 end
expire()
local current = tonumber(ARGV[6]) == backoff.epoch and tonumber(ARGV[5]) or 0
backoff.successes = backoff.successes + tonumber(ARGV[4]) - current
for _ = 1, current do succeed() end
local rejected = tonumber(ARGV[7])
if rejected > 0 then
  local last_429_at = backoff.last429At
  backoff.total429 = backoff.total429 + rejected
  backoff.last429At = wall
  backoff.consecutiveSuccesses = 0
  if adaptive then reject(rejected, tonumber(ARGV[8]) == backoff.epoch, last_429_at) end
end
if tonumber(ARGV[9]) > 0 then paused = math.max(paused, now + tonumber(ARGV[9]) * 1000) end

-- The windows at this backoff (policy.ts, effectiveWindows)
local windows = {}
for index = 15, #ARGV, 3 do
  local limit, window, guard = tonumber(ARGV[index]), tonumber(ARGV[index + 1]), tonumber(ARGV[index + 2]) * 1000
  local multiplier, learned = backoff.multiplier, backoff.learned
  local count = math.max(1, math.ceil(limit / learned - 1e-9))
  local span = math.max(window, math.ceil(window * count * learned / limit - 1e-6)) * 1000 + guard
  table.insert(windows, { count, span })
  if multiplier > 1 then
    local spaced = math.max(1, math.floor(limit * config.spacing_ms / (window * multiplier) + 0.5))
    table.insert(windows, { spaced, math.ceil(window * multiplier * spaced / limit - 1e-6) * 1000 })
  end
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

local ttl = config.ttl_ms + math.max(0, math.ceil((paused - now) / 1000))
if granted + moved > 0 then
  redis.call('LTRIM', grants, 0, kept - 1)
  redis.call('PEXPIRE', grants, ttl)
end
local saved = { 'paused', string.format('%.0f', paused), 'kept', kept, 'offset', string.format('%.0f', offset),
  'last', string.format('%.0f', now) }
local paused_until = 0
if paused > now then paused_until = math.ceil((clock + paused - now) / 1000) end
local reply = { granted, math.ceil((ready - now) / 1000), stamp, string.format('%.0f', paused_until) }
for _, name in ipairs(fields) do
  local text = string.format('%.17g', backoff[name])
  table.insert(saved, name)
  table.insert(saved, text)
  table.insert(reply, text)
end
redis.call('HSET', state, unpack(saved))
redis.call('PEXPIRE', state, ttl)
return reply
