// Beyond the specification: whether a signature over a quote is good, and if not, why (decision 0087). The one read of a
// node within a request of this group, with a limit of its own; the node is the configured one, never the caller's.
import { extensions } from '#api/extensions.ts'
import { parseJson } from '#api/json.ts'
import type { Quote } from '#api/wire/fx.ts'
import type { Diagnosis } from '#api/wire/fx-desk.ts'
import { invalid } from '#core/fault.ts'
import type { Clock } from '#io/clock.ts'
import { answer } from '#serve/answer.ts'
import { type Case, diagnose } from './doctor.ts'
import { TypedDataTooLarge } from './hash-typed-data.ts'
import { storedQuote } from './quotes.ts'
import { settlementFindings } from './settlement.ts'
import { shape } from './shape.ts'

export const checkSignature = answer(extensions['fx.checkSignature'], shape, async (input, context, { caller }) => {
  const found = await storedQuote(context.state, input.id, caller.keyId)
  if (!found) return { is: 'nothing' }
  const quote = parseJson(new TextDecoder().decode(found.reply)) as Quote
  const { signature, signer, typedData: signed } = input
  return {
    is: 'body',
    body: await examine(quote, { signature, signer, signed }, context.settings.fx.rpcUrl, context.clock),
  }
})

/** Of any length: a contract signs with whatever it accepts. */
const isBytes = /^0x([0-9a-fA-F]{2})*$/

/** The whole diagnosis; with an address of a node, also what is on the chain. */
export async function examine(
  quote: Quote,
  shown: Pick<Case, 'signature' | 'signer' | 'signed'>,
  rpcUrl: string,
  clock: Clock,
): Promise<Diagnosis> {
  const { typedData } = quote
  if (!typedData) {
    throw invalid(['path', 'id'], 'is the id of a reference quote: there is nothing to sign', quote.id)
  }
  if (!isBytes.test(shown.signature)) {
    throw invalid(['body', 'signature'], 'must be 0x and hexadecimal bytes of two digits each')
  }
  const told = diagnosed({ quote: { ...quote, typedData }, ...shown, nowMs: clock.now() })
  const signer = shown.signer ?? told.signer
  if (rpcUrl === '' || signer === null) return { ...told, chain: [] }
  const chain = await settlementFindings(
    rpcUrl,
    { typedData, signer, signature: shown.signature, digest: told.digest },
    clock,
  )
  // A contract signs with whatever it accepts: what it says goes before what the bytes look like.
  const stands = chain.find(({ name }) => name === 'signature')
  if (!stands || shown.signer === undefined) return { ...told, chain }
  return { ...told, verdict: stands.ok ? 'good' : 'bad', findings: stands.ok ? [] : told.findings, chain }
}

function diagnosed(asked: Case): ReturnType<typeof diagnose> {
  try {
    return diagnose(asked)
  } catch (error) {
    if (error instanceof TypedDataTooLarge) throw invalid(['body', 'typedData'], error.message)
    throw error
  }
}
