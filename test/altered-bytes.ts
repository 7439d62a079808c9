// Alters bytes that are not text, such as SSZ. A value is a number of eight bytes or a root of 32 bytes.

import type { SeededRandom } from '#simulator/seeded-random.ts'
import type { ValueAlteration } from './altered-answer.ts'

export interface AlteredBytes {
  readonly at: number
  readonly before: Buffer
  readonly after: Buffer
  readonly bytes: Buffer
}

const valueSizes = [8, 8, 32]

/** Undefined if this kind does not apply to bytes. */
export function alterBytes(kind: ValueAlteration, draws: SeededRandom, bytes: Buffer): AlteredBytes | undefined {
  const size = draws.pick(valueSizes)
  if (bytes.length < 2 * size) return undefined
  const at = pickPosition(draws, bytes, size)
  const before = bytes.subarray(at, at + size)
  const after = alterValue(kind, draws, before, bytes.subarray(at + size, at + 2 * size))
  if (!after) return undefined
  const replaced = kind === 'swapped with a neighbour' ? 2 * size : size
  return { at, before, after, bytes: Buffer.concat([bytes.subarray(0, at), after, bytes.subarray(at + replaced)]) }
}

/** Most bytes of a state are zero and not used, so others are preferred. */
function pickPosition(draws: SeededRandom, bytes: Buffer, size: number): number {
  const positions = Array.from({ length: 8 }, () => draws.whole(0, bytes.length - 2 * size + 1))
  return positions.find((at) => bytes[at] !== 0) ?? (positions[0] as number)
}

function alterValue(kind: ValueAlteration, draws: SeededRandom, value: Buffer, next: Buffer): Buffer | undefined {
  switch (kind) {
    case 'off by one': {
      const after = Buffer.from(value)
      after.writeBigUInt64LE(BigInt.asUintN(64, after.readBigUInt64LE() + draws.pick([1n, -1n])))
      return after
    }
    case 'changed character': {
      const after = Buffer.from(value)
      after[0] = (after[0] as number) ^ (1 << draws.whole(0, 8))
      return after
    }
    case 'sign flipped': {
      const after = Buffer.from(value)
      after[7] = (after[7] as number) ^ 0x80
      return after
    }
    case 'swapped with a neighbour':
      return value.equals(next) ? undefined : Buffer.concat([next, value])
    case 'truncated list':
    case 'field dropped':
      return Buffer.alloc(0)
    case 'repeated element':
      return Buffer.concat([value, value])
    case 'unknown field':
      return Buffer.concat([value, Buffer.alloc(value.length, draws.whole(0, 256))])
    case 'very large':
      return Buffer.alloc(value.length, 0xff)
    case 'empty value':
      return value.every((byte) => byte === 0) ? undefined : Buffer.alloc(value.length)
    default:
      return undefined
  }
}
