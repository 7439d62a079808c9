// The keys that sign the receipts of quotes (behaviour/fx.md#receipt-keys). The first key is created when a server first needs one, later ones by the operator. All are stored with the quotes.
//
// 1. Exactly one key signs. The private part of a retired key is deleted, and no quote is stored with it (quotes.ts, 2).
// 2. Public keys are never deleted, so that every receipt can be checked.
import type { KeyObject } from 'node:crypto'
import type { StateReader, StateWriter } from '#storage/state.ts'
import type { FxContext } from '../context.ts'
import { fingerprintOf, privateKeyOf, publicBytesOf, seedBytes } from './ed25519.ts'

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

const selectSigningKey = `select private_key as "seed", created_ms as "createdMs" from fx_receipt_keys
  where retired_ms is null order by created_ms, id limit 1`

/** The current key. Creates the first one. */
export async function getReceiptSigner({ state, random, clock, fx }: KeyContext): Promise<ReceiptKey> {
  // Another process may have created one between the first read and the transaction.
  const createFirst = async (tx: StateWriter) =>
    (await readKeyRow(tx)) ?? insertKey(tx, random.bytes(seedBytes), clock.now())
  fx.receiptKey = toKey((await readKeyRow(state)) ?? (await state.write(createFirst, { lock: 'settings' })))
  return fx.receiptKey
}

/** The key as last read. If another process has retired it since, storing a quote fails (quotes.ts, 2). */
export const getCachedSigner = async (context: KeyContext): Promise<ReceiptKey> =>
  context.fx.receiptKey ?? getReceiptSigner(context)

const readKeyRow = (reader: StateReader) => reader.get<KeyRow>(selectSigningKey)

async function insertKey(tx: StateWriter, seed: Uint8Array, createdMs: number): Promise<KeyRow> {
  const publicBytes = publicBytesOf(privateKeyOf(seed))
  const sql = 'insert into fx_receipt_keys (id, private_key, public_key, created_ms) values (?, ?, ?, ?)'
  await tx.run(sql, fingerprintOf(publicBytes), seed, publicBytes, createdMs)
  return { seed, createdMs }
}

/** Retires the current key and creates a new one. */
export function rotateReceiptKey({ state, random, clock }: Omit<KeyContext, 'fx'>): Promise<ReceiptKey> {
  const nowMs = clock.now()
  return state.write(
    async (tx) => {
      const sql = 'update fx_receipt_keys set retired_ms = ?, private_key = ? where retired_ms is null'
      await tx.run(sql, nowMs, new Uint8Array(0))
      return toKey(await insertKey(tx, random.bytes(seedBytes), nowMs))
    },
    { lock: 'settings' },
  )
}

function toKey({ seed, createdMs }: KeyRow): ReceiptKey {
  const key = privateKeyOf(seed)
  const publicBytes = publicBytesOf(key)
  return { id: fingerprintOf(publicBytes), key, publicKey: base64Url(publicBytes), createdMs }
}

export const base64Url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
