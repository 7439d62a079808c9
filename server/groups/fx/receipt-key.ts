// The keys that sign receipts. The first is created when a server first starts, later ones when the operator asks. All are
// in the store with the quotes, and their public halves are open to anyone (decisions 0085 and 0132).
//
// 1. One key signs. A key that has been retired signs no quote that is stored later (quotes.ts, 2): its secret is gone.
// 2. Public halves stay for ever, so that a receipt signed under any of them can be checked.
import type { KeyObject } from 'node:crypto'
import { extensions } from '#api/extensions.ts'
import { fingerprintOf, privateKeyOf, publicBytesOf, seedBytes } from '#core/ed25519.ts'
import { answer } from '#serve/answer.ts'
import type { StateReader, StateWriter } from '#store/state.ts'
import type { FxContext } from './context.ts'
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

export type KeyContext = Pick<FxContext, 'state' | 'random' | 'clock' | 'fx'>

const read = `select private_key as "seed", created_ms as "createdMs" from fx_receipt_keys
  where retired_ms is null order by created_ms, id limit 1`

/** The key that signs now; creates the first one. */
export async function receiptSigner({ state, random, clock, fx }: KeyContext): Promise<ReceiptKey> {
  const row = (await stored(state)) ?? (await state.write((tx) => first(tx, random.bytes(seedBytes), clock.now())))
  fx.receiptKey = toKey(row)
  return fx.receiptKey
}

/** The key as it was last read. Another process may have retired it since: storing a quote then fails (quotes.ts, 2). */
export const rememberedSigner = async (context: KeyContext): Promise<ReceiptKey> =>
  context.fx.receiptKey ?? receiptSigner(context)

const stored = (reader: StateReader) => reader.get<KeyRow>(read)

/** Whoever comes second gets the first one's. */
const first = async (tx: StateWriter, seed: Uint8Array, createdMs: number): Promise<KeyRow> =>
  (await stored(tx)) ?? put(tx, seed, createdMs)

async function put(tx: StateWriter, seed: Uint8Array, createdMs: number): Promise<KeyRow> {
  const publicBytes = publicBytesOf(privateKeyOf(seed))
  await tx.run(
    'insert into fx_receipt_keys (id, private_key, public_key, created_ms) values (?, ?, ?, ?)',
    ...[fingerprintOf(publicBytes), seed, publicBytes, createdMs],
  )
  return { seed, createdMs }
}

/** From now on another key signs; what was signed before can still be checked. */
export function rotateReceiptKey({ state, random, clock }: Omit<KeyContext, 'fx'>): Promise<ReceiptKey> {
  const nowMs = clock.now()
  return state.write(async (tx) => {
    await tx.run(
      'update fx_receipt_keys set retired_ms = ?, private_key = ? where retired_ms is null',
      ...[nowMs, new Uint8Array(0)],
    )
    return toKey(await put(tx, random.bytes(seedBytes), nowMs))
  })
}

function toKey({ seed, createdMs }: KeyRow): ReceiptKey {
  const key = privateKeyOf(seed)
  const publicBytes = publicBytesOf(key)
  return { id: fingerprintOf(publicBytes), key, publicKey: base64Url(publicBytes), createdMs }
}

const base64Url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

/** Far more than anybody makes in a lifetime. */
const pastMax = 1000

async function pastKeys(state: StateReader) {
  const rows = await state.all<{ keyId: string; bytes: Uint8Array; createdMs: number; retiredMs: number }>(
    `select id as "keyId", public_key as "bytes", created_ms as "createdMs", retired_ms as "retiredMs"
     from fx_receipt_keys where retired_ms is not null order by retired_ms desc, id limit ?`,
    pastMax,
  )
  return rows.map(({ keyId, bytes, createdMs, retiredMs }) => ({
    ...{ keyId, publicKey: base64Url(bytes) },
    ...{ createdAt: new Date(createdMs).toISOString(), retiredAt: new Date(retiredMs).toISOString() },
  }))
}

/** What is shown to anyone. */
export async function publicKeys(context: KeyContext) {
  const { id, publicKey, createdMs } = await receiptSigner(context)
  return {
    ...{ algorithm: 'Ed25519' as const, keyId: id, publicKey, createdAt: new Date(createdMs).toISOString() },
    past: await pastKeys(context.state),
  }
}

export const receiptKey = answer(extensions['fx.receiptKey'], shape, async (_, context: FxContext) => ({
  is: 'body',
  body: await publicKeys(context),
}))
