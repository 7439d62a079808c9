// Extension: lists the quotes of the caller's key, newest first (behaviour/fx.md#read-quotes-back).
import { extensions } from '#api/contract/extensions.ts'
import { createHandler } from '#http/handler.ts'
import { listQuotes } from '../../pricing/quotes.ts'

export const quotes = createHandler(extensions['fx.quotes'], async ({ limit, before }, { state }, { caller }) => {
  const found = await listQuotes(state, { keyId: caller.keyId, before, count: limit + 1 })
  const shown = found.slice(0, limit)
  const next = found.length > limit ? (shown.at(-1)?.id ?? null) : null
  // The stored bytes are joined as they are, because parsing would lose digits.
  const text = new TextDecoder()
  const documents = shown.map(({ reply }) => text.decode(reply))
  const body = `{"quotes":[${documents.join()}],"next":${JSON.stringify(next)}}`
  return { is: 'bytes', bytes: new TextEncoder().encode(body) }
})
