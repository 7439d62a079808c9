// Beyond the specification: how a quote was priced, as it was written down then, signed now (decision 0085).
import { extensions } from '#api/extensions.ts'
import type { Receipt, SignedReceipt } from '#api/wire/fx-desk.ts'
import { canonicalJson } from '#core/canonical-json.ts'
import { signed } from '#core/ed25519.ts'
import { answer, type Desk } from '#serve/answer.ts'
import { storedQuote } from './quotes.ts'
import { receiptSigner } from './receipt-key.ts'
import { shape } from './shape.ts'

export const receipt = answer(extensions['fx.receipt'], shape, async ({ id }, desk, { caller }) => {
  const found = await storedQuote(desk.state, id, caller.keyId)
  // Quotes from before receipts were kept have a note of their own form.
  const body = found && (JSON.parse(found.pricedFrom) as Partial<Receipt>)
  if (body?.version !== '1') return { is: 'nothing' }
  return { is: 'body', body: await signedReceipt(desk, body as Receipt) }
})

export async function signedReceipt(
  desk: Pick<Desk, 'state' | 'random' | 'clock'>,
  body: Receipt,
): Promise<SignedReceipt> {
  const { id, key, publicKey } = await receiptSigner(desk)
  const value = signed(key, new TextEncoder().encode(canonicalJson(body)))
  return {
    receipt: body,
    signature: { algorithm: 'Ed25519', keyId: id, publicKey, value: Buffer.from(value).toString('base64url') },
  }
}
