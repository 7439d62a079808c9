// The key receipts are signed with: made once, kept in the store with the quotes it speaks of, its public half shown to
// anyone (decision 0085).
import type { KeyObject } from 'node:crypto'
import { extensions } from '#api/extensions.ts'
import { fingerprintOf, privateKeyOf, publicBytesOf, seedBytes } from '#core/ed25519.ts'
import { answer, type Desk } from '#serve/answer.ts'
import type { State, StateReader, StateWriter } from '#store/state.ts'
import { shape } from './shape.ts'

export interface ReceiptKey {
  readonly id: string
  readonly key: KeyObject
  /** base64url */
  readonly publicKey: string
  readonly createdMs: number
}

interface KeyRow {
  readonly seed: Uint8Array
  readonly createdMs: number
}

const known = new WeakMap<State, ReceiptKey>()
const read =
  'select private_key as "seed", created_ms as "createdMs" from fx_receipt_keys order by created_ms, id limit 1'

export async function receiptSigner({
  state,
  random,
  clock,
}: Pick<Desk, 'state' | 'random' | 'clock'>): Promise<ReceiptKey> {
  const kept = known.get(state)
  if (kept) return kept
  const row = (await stored(state)) ?? (await state.write((tx) => first(tx, random.bytes(seedBytes), clock.now())))
  const key = toKey(row)
  known.set(state, key)
  return key
}

const stored = (reader: StateReader) => reader.get<KeyRow>(read)

/** Whoever comes second gets the first one's. */
async function first(tx: StateWriter, seed: Uint8Array, createdMs: number): Promise<KeyRow> {
  const there = await stored(tx)
  if (there) return there
  const publicBytes = publicBytesOf(privateKeyOf(seed))
  await tx.run(
    'insert into fx_receipt_keys (id, private_key, public_key, created_ms) values (?, ?, ?, ?)',
    ...[fingerprintOf(publicBytes), seed, publicBytes, createdMs],
  )
  return { seed, createdMs }
}

function toKey({ seed, createdMs }: KeyRow): ReceiptKey {
  const key = privateKeyOf(seed)
  const publicBytes = publicBytesOf(key)
  return { id: fingerprintOf(publicBytes), key, publicKey: Buffer.from(publicBytes).toString('base64url'), createdMs }
}

export const receiptKey = answer(extensions['fx.receiptKey'], shape, async (_, desk) => {
  const { id, publicKey, createdMs } = await receiptSigner(desk)
  return {
    is: 'body',
    body: { algorithm: 'Ed25519' as const, keyId: id, publicKey, createdAt: new Date(createdMs).toISOString() },
  }
})
