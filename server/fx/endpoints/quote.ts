// Beyond the specification: a quote read back, expired or not, as the bytes it was answered with. A quote of another key
// is no quote: ids must not tell who trades (behaviour/fx.md#read-quotes-back).
import { extensions } from '#api/extensions.ts'
import { createHandler } from '#http/handler.ts'
import { fxErrorFormat } from '../error-format.ts'
import { readQuote } from '../pricing/quotes.ts'

export const quote = createHandler(extensions['fx.quote'], fxErrorFormat, async ({ id }, { state }, { caller }) => {
  const found = await readQuote(state, id, caller.keyId)
  if (!found) return { is: 'nothing' }
  return { is: 'bytes', bytes: found.reply, confidence: { asOf: new Date(found.asOfMs).toISOString() } }
})
