// Extension: accepts a tradable quote with its signature (behaviour/fx.md#trades).
import { extensions } from '#api/contract/extensions.ts'
import { hasWrongChecksum } from '#core/checksum-address.ts'
import { Fault, invalid } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import type { FxContext } from '../../context.ts'
import { findDifferences } from '../signature-check/document-differences.ts'
import { acceptQuote, findAcceptance, readSignableQuote } from './trade-store.ts'
import { verifySignature } from './verify-signature.ts'

export const createTrade = createHandler(
  extensions['fx.createTrade'],
  async (input, context: FxContext, { caller: { keyId }, signal }) => {
    const { state, clock, fx } = context
    const { quoteId, address, signature, message } = input
    if (hasWrongChecksum(address)) throw invalid(['body', 'address'], 'has a wrong EIP-55 checksum', address)
    const bytes = Uint8Array.fromHex(signature.slice(2))
    // Before all checks: the same request must get the same response, also after the quote has expired.
    const earlier = await findAcceptance(state, { quoteId, keyId, address, signature: bytes })
    if (earlier) return { is: 'bytes', bytes: earlier }
    const quote = await readSignableQuote(state, quoteId, keyId)
    if (!quote) return { is: 'nothing' }
    const { typedData } = quote
    if (!typedData)
      throw invalid(['body', 'quoteId'], 'is the id of a reference quote, which cannot be accepted', quoteId)
    const [difference] = message === undefined ? [] : findDifferences(typedData, { ...typedData, message })
    if (difference) throw invalid(['body', ...difference.field.split('.')], 'differs from the quote')
    // The database decides (trade-store.ts, rule 1). This saves the node calls about quotes that have long expired.
    if (clock.now() >= Date.parse(quote.expiresAt) + clockDifferenceMs) throw new Fault('fx.quote_expired')
    const check = () => verifySignature(context, { typedData, address, signature }, signal)
    const signedBy = await fx.tradeCalls.run(keyId, check, signal)
    const accepted = { quote: { ...quote, typedData }, keyId, address, signature: bytes, signedBy }
    return { is: 'bytes', bytes: await acceptQuote(context, accepted) }
  },
)

/** Clocks of server and database differ by less. */
const clockDifferenceMs = 60_000
