// The source of randomness. Tests replace it.
import { randomBytes, randomUUID } from 'node:crypto'

export interface Random {
  bytes(count: number): Uint8Array
  uuid(): string
}

/** A call of randomBytes costs more than the bytes, so small amounts are taken from a larger one. */
const smallBytesMax = 16
const pool = { bytes: new Uint8Array(0), used: 0 }

function takeSmall(count: number): Uint8Array {
  if (pool.used + count > pool.bytes.length) {
    pool.bytes = randomBytes(1024)
    pool.used = 0
  }
  const from = pool.used
  pool.used += count
  return new Uint8Array(pool.bytes.subarray(from, pool.used))
}

export const systemRandom: Random = {
  bytes: (count) => (count <= smallBytesMax ? takeSmall(count) : randomBytes(count)),
  uuid: () => randomUUID(),
}
