// One decision about one call, as Redis makes it: everything between its first line and its last happens at one moment of
// one clock, whoever asks. The same rules as limits.ts and core/window.ts (behaviour/http.md#rate-limits); times are microseconds.
//
// 1. Nothing is taken before every limit has been looked at.
// 2. A list holds the calls of the last second, oldest first. Calls later than now mean that the clock was set back: they
//    count as made now, so a limit is never loosened by it and nobody waits longer than a second.
// 3. A Redis that knows nothing of the second before lets nothing past an endpoint's own limit until it does
//    (behaviour/operations.md#redis-outages). `since` is when it began to know.
// 4. A Redis without a figure for this day asks for the stored one: it may have been restarted.
// 5. Lua writes large numbers with an exponent; `text` does not.
import { createScript, type RedisScript } from '#sources/redis.ts'

/** Answers as TIME does: seconds and microseconds. A test brings its own. */
export const serverTime = `redis.call('TIME')`

const readClock = (time: string): string => `
local time = ${time}
local nowUs = time[1] * 1000000 + time[2]
local secondUs = 1000000
local function text(number) return string.format('%.0f', number) end
`

/** KEYS: since, process. ARGV: the name of the process that runs Redis now. */
export const registerScript = (time = serverTime): RedisScript =>
  createScript(`${readClock(time)}
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  redis.call('SET', KEYS[2], ARGV[1])
  redis.call('SET', KEYS[1], text(nowUs))
end
return {0}
`)

/**
 * KEYS: since, the caller's second, the caller's second at this endpoint, the caller's days. ARGV: the limits of the second,
 * of the endpoint and of the day, then a day, how many calls of it are known to have been admitted, and 1 if these are all that the
 * store knows. Answers: 0 admitted, 1 the day is full, 2 a second is full, 3 the day's figure is missing, 4 the second before is
 * not known; the two waits; the time; the calls of the day so far.
 */
export const limitScript = (time = serverTime): RedisScript =>
  createScript(`${readClock(time)}
local perSecond, perSecondHere, perDay = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

local function waitUs(key, limit)
  if limit == 0 then return 0 end
  local newest = redis.call('LINDEX', key, -1)
  if newest and tonumber(newest) > nowUs then
    for index, at in ipairs(redis.call('LRANGE', key, 0, -1)) do
      if tonumber(at) > nowUs then redis.call('LSET', key, index - 1, text(nowUs)) end
    end
  end
  local oldest = redis.call('LINDEX', key, 0)
  while oldest and tonumber(oldest) <= nowUs - secondUs do
    redis.call('LPOP', key)
    oldest = redis.call('LINDEX', key, 0)
  end
  local count = redis.call('LLEN', key)
  if count < limit then return 0 end
  return tonumber(redis.call('LINDEX', key, count - limit)) + secondUs - nowUs
end

local function take(key, limit)
  if limit == 0 then return end
  redis.call('RPUSH', key, text(nowUs))
  redis.call('PEXPIRE', key, 2000)
end

local day = math.floor(nowUs / 86400000000)
local used = 0
if perDay > 0 then
  local kept = redis.call('HGET', KEYS[4], text(day))
  local sameDay = tonumber(ARGV[4]) == day
  if not kept and not (sameDay and ARGV[6] == '1') then return {3, 0, 0, nowUs, 0} end
  used = tonumber(kept or 0)
  if sameDay then used = math.max(used, tonumber(ARGV[5])) end
  if used >= perDay then return {1, 0, 0, nowUs, used} end
end

local since = tonumber(redis.call('GET', KEYS[1]) or math.huge)
if since > nowUs then
  since = nowUs
  redis.call('SET', KEYS[1], text(since))
end
local wait = waitUs(KEYS[2], perSecond)
local waitHere = waitUs(KEYS[3], perSecondHere)
if wait > 0 or waitHere > 0 then return {2, wait, waitHere, nowUs, used} end
local unknown = since + secondUs - nowUs
if perSecondHere > 0 and unknown > 0 then return {4, 0, unknown, nowUs, used} end

take(KEYS[2], perSecond)
take(KEYS[3], perSecondHere)
if perDay > 0 then
  used = used + 1
  redis.call('HSET', KEYS[4], text(day), text(used))
  redis.call('HDEL', KEYS[4], text(day - 2), text(day - 3))
  redis.call('PEXPIRE', KEYS[4], 172800000)
end
return {0, 0, 0, nowUs, used}
`)
