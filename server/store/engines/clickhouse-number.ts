// Numbers of batches and commits.
import { systemClock } from '#io/clock.ts'
import { systemRandom } from '#io/random.ts'

/** Below the milliseconds. */
const chanceBits = 20n

let lastNumber = 0n

/** Grows with time, so that its age can be read off it; unlike any other, also of another process. */
export function freshNumber(): bigint {
  const chance = systemRandom.bytes(3)
  const low = BigInt(chance[0] ?? 0) * 4096n + BigInt(chance[1] ?? 0) * 16n + BigInt((chance[2] ?? 0) % 16)
  const number = (BigInt(systemClock.now()) << chanceBits) + low
  lastNumber = number > lastNumber ? number : lastNumber + 1n
  return lastNumber
}

/** What a number of that moment is not below. */
export const numberAt = (unixMs: number): bigint => BigInt(unixMs) << chanceBits
