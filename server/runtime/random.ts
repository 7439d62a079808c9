// The source of randomness. Tests replace it.
import { randomBytes, randomUUID } from 'node:crypto'

export interface Random {
  bytes(count: number): Uint8Array
  uuid(): string
}

export const systemRandom: Random = {
  bytes: (count) => randomBytes(count),
  uuid: () => randomUUID(),
}
