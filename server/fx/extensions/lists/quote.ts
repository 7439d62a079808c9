// Extension: returns a stored quote byte for byte, expired or not. Quotes of other keys are "not found", so that ids do
// not reveal who trades (behaviour/fx.md#read-quotes-back).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import { readQuote } from '../../pricing/quotes.ts'
import { largeIntegerHeaders } from '../../typed-data/large-integers.ts'

export const quote = createHandler(extensions['fx.quote'], async ({ id }, { state }, { caller }) => {
  const stored = await readQuote(state, id, caller.keyId)
  if (!stored) return { is: 'nothing' }
  return {
    is: 'bytes',
    bytes: stored.reply,
    confidence: { asOf: new Date(stored.asOfMs).toISOString() },
    headers: largeIntegerHeaders(stored.reply),
  }
})
