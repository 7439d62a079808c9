// The Redis script that checks and counts one call atomically, with the clock of Redis. It has the same rules as limits.ts
// and sliding-window.ts (behaviour/http.md#rate-limits). Times are microseconds.
//
// 1. A call is counted only after all limits were checked.
// 2. A list contains the calls of the last second, oldest first. If the clock was set back, later calls count as made
//    now: the limit still holds, and no caller waits longer than a second.
// 3. After a restart, Redis does not know the calls of the last second. Until a second has passed, calls of endpoints with
//    their own limit are refused (behaviour/operations.md#redis-outages). `since` is the time of the start.
// 4. Without a count for this day, the script asks for the stored one: Redis may have been restarted.
// 5. Lua writes large numbers with an exponent; `text` does not.

/** Seconds and microseconds. Tests replace it. */
export const serverTime = `redis.call('TIME')`

const readClock = (time: string): string => `
local time = ${time}
local nowUs = time[1] * 1000000 + time[2]
local secondUs = 1000000
local function text(number) return string.format('%.0f', number) end
`

/** KEYS: since, process. ARGV: the run id of the Redis process. */
export const registerScript = (time = serverTime): string => `${readClock(time)}
if redis.call('GET', KEYS[2]) ~= ARGV[1] then
  redis.call('SET', KEYS[2], ARGV[1])
  redis.call('SET', KEYS[1], text(nowUs))
end
return {0}
`

/**
 * KEYS: since, the calls of the caller, its calls of this endpoint, its counts by day. ARGV: the limits per second, per
 * second of the endpoint, and per day; then a day, its known number of accepted calls, and 1 if that number was read
 * from the database. Returns: 0 accepted, 1 daily limit, 2 limit per second, 3 the count of the day is missing, 4 the
 * last second is unknown; then the two waits, the time, and the calls of the day.
 */
export const limitScript = (time = serverTime): string => `${readClock(time)}
local perSecond, endpointPerSecond, perDay = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

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
local endpointWait = waitUs(KEYS[3], endpointPerSecond)
if wait > 0 or endpointWait > 0 then return {2, wait, endpointWait, nowUs, used} end
local unknown = since + secondUs - nowUs
if endpointPerSecond > 0 and unknown > 0 then return {4, 0, unknown, nowUs, used} end

take(KEYS[2], perSecond)
take(KEYS[3], endpointPerSecond)
if perDay > 0 then
  used = used + 1
  redis.call('HSET', KEYS[4], text(day), text(used))
  redis.call('HDEL', KEYS[4], text(day - 2), text(day - 3))
  redis.call('PEXPIRE', KEYS[4], 172800000)
end
return {0, 0, 0, nowUs, used}
`
