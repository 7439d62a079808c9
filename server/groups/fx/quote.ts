// Beyond the specification: a quote read back, expired or not, as the bytes it was answered with. A quote of another key
// is no quote: ids must not tell who trades (decision 0086).
import { extensions } from '#api/extensions.ts'
import { answer } from '#serve/answer.ts'
import { storedQuote } from './quotes.ts'
import { shape } from './shape.ts'

export const quote = answer(extensions['fx.quote'], shape, async ({ id }, { state }, { caller }) => {
  const found = await storedQuote(state, id, caller.keyId)
  if (!found) return { is: 'nothing' }
  return { is: 'bytes', bytes: found.reply, confidence: { asOf: new Date(found.asOfMs).toISOString() } }
})
