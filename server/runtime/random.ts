// Chance enters the house here and nowhere else, so that a test can own it.
import { randomBytes, randomUUID } from 'node:crypto'

export interface Random {
  bytes(count: number): Uint8Array
  uuid(): string
}

export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  uuid: () => randomUUID(),
}
