// Extension: publishes the public keys of receipts, so that anyone can check a receipt without trusting the server
// (behaviour/fx.md#receipt-keys).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'
import type { FxContext } from '../../context.ts'
import { base64Url, getReceiptSigner, type KeyContext } from '../../receipts/receipt-key.ts'

/** Limit of the response; far more than rotations can be expected. */
const retiredKeysMax = 1000

async function readRetiredKeys(state: StateReader) {
  const rows = await state.all<{ keyId: string; bytes: Uint8Array; createdMs: number; retiredMs: number }>(
    `select id as "keyId", public_key as "bytes", created_ms as "createdMs", retired_ms as "retiredMs"
     from fx_receipt_keys where retired_ms is not null order by retired_ms desc, id limit ?`,
    retiredKeysMax,
  )
  return rows.map(({ keyId, bytes, createdMs, retiredMs }) => ({
    keyId,
    publicKey: base64Url(bytes),
    createdAt: new Date(createdMs).toISOString(),
    retiredAt: new Date(retiredMs).toISOString(),
  }))
}

export async function readPublicKeys(context: KeyContext) {
  const { id, publicKey, createdMs } = await getReceiptSigner(context)
  return {
    algorithm: 'Ed25519' as const,
    keyId: id,
    publicKey,
    createdAt: new Date(createdMs).toISOString(),
    past: await readRetiredKeys(context.state),
  }
}

export const receiptKey = createHandler(extensions['fx.receiptKey'], async (_, context: FxContext) => ({
  is: 'body',
  body: await readPublicKeys(context),
}))
