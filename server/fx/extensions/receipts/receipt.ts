// Extension: returns the signed receipt of a quote, which shows how the quote was priced (behaviour/fx.md#receipts).
// The receipt was written and signed together with the quote.
import { extensions } from '#api/contract/extensions.ts'
import type { Receipt, SignedReceipt } from '#api/contract/wire/fx-extensions.ts'
import { createHandler } from '#http/handler.ts'
import type { StateReader } from '#storage/state.ts'

export const receipt = createHandler(extensions['fx.receipt'], async ({ id }, { state }, { caller }) => {
  const body = await readReceipt(state, id, caller.keyId)
  return body ? { is: 'body', body } : { is: 'nothing' }
})

/** With `keyId`, only if the quote belongs to this key. */
export async function readReceipt(reader: StateReader, id: string, keyId?: string): Promise<SignedReceipt | undefined> {
  const row = await reader.get<{ text: string; keyId: string; publicKey: Uint8Array; signature: Uint8Array }>(
    `select q.priced_from as "text", k.id as "keyId", k.public_key as "publicKey", q.receipt_signature as "signature"
     from fx_quotes q join fx_receipt_keys k on k.id = q.receipt_key
     where q.id = ? and (cast(? as text) is null or q.key_id = ?)`,
    ...[id.toLowerCase(), keyId ?? null, keyId ?? null],
  )
  return (
    row && {
      receipt: JSON.parse(row.text) as Receipt,
      signature: {
        algorithm: 'Ed25519',
        keyId: row.keyId,
        publicKey: Buffer.from(row.publicKey).toString('base64url'),
        value: Buffer.from(row.signature).toString('base64url'),
      },
    }
  )
}
