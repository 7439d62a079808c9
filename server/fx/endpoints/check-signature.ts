// Beyond the specification: whether a signature over a quote is good, and if not, why (behaviour/fx.md#signature-checks). The one read of a
// node within a request of this group, with a limit of its own; the node is the configured one, never the caller's.
import { extensions } from '#api/extensions.ts'
import { parseJson } from '#api/json.ts'
import type { Quote } from '#api/wire/fx.ts'
import type { Diagnosis } from '#api/wire/fx-extensions.ts'
import { invalid } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import type { Clock } from '#runtime/clock.ts'
import { fxErrorFormat } from '../error-format.ts'
import { readQuote } from '../pricing/quotes.ts'
import { diagnose, type SignatureInput } from '../typed-data/diagnose-signature.ts'
import { TypedDataTooLarge } from '../typed-data/hash-typed-data.ts'
import { readSettlementFindings } from '../typed-data/settlement.ts'

export const checkSignature = createHandler(
  extensions['fx.checkSignature'],
  fxErrorFormat,
  async (input, context, { caller }) => {
    const found = await readQuote(context.state, input.id, caller.keyId)
    if (!found) return { is: 'nothing' }
    const quote = parseJson(new TextDecoder().decode(found.reply)) as Quote
    const { signature, signer, typedData: signed } = input
    return {
      is: 'body',
      body: await examineSignature(quote, { signature, signer, signed }, context.settings.fx.rpcUrl, context.clock),
    }
  },
)

/** Of any length: a contract signs with whatever it accepts. */
const isBytes = /^0x([0-9a-fA-F]{2})*$/

/** The whole diagnosis; with an address of a node, also what is on the chain. */
export async function examineSignature(
  quote: Quote,
  input: Pick<SignatureInput, 'signature' | 'signer' | 'signed'>,
  rpcUrl: string,
  clock: Clock,
): Promise<Diagnosis> {
  const { typedData } = quote
  if (!typedData) {
    throw invalid(['path', 'id'], 'is the id of a reference quote: there is nothing to sign', quote.id)
  }
  if (!isBytes.test(input.signature)) {
    throw invalid(['body', 'signature'], 'must be 0x and hexadecimal bytes of two digits each')
  }
  const diagnosis = diagnoseOrRefuse({ quote: { ...quote, typedData }, ...input, nowMs: clock.now() })
  const signer = input.signer ?? diagnosis.signer
  if (rpcUrl === '' || signer === null) return { ...diagnosis, chain: [] }
  const chain = await readSettlementFindings(
    rpcUrl,
    { typedData, signer, signature: input.signature, digest: diagnosis.digest },
    clock,
  )
  // A contract signs with whatever it accepts: what it says goes before what the bytes look like.
  const contractFinding = chain.find(({ name }) => name === 'signature')
  if (!contractFinding || input.signer === undefined) return { ...diagnosis, chain }
  return {
    ...diagnosis,
    verdict: contractFinding.ok ? 'good' : 'bad',
    findings: contractFinding.ok ? [] : diagnosis.findings,
    chain,
  }
}

function diagnoseOrRefuse(input: SignatureInput): ReturnType<typeof diagnose> {
  try {
    return diagnose(input)
  } catch (error) {
    if (error instanceof TypedDataTooLarge) throw invalid(['body', 'typedData'], error.message)
    throw error
  }
}
