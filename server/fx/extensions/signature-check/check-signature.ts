// Extension: checks a signature over a quote and explains what is wrong with it (behaviour/fx.md#signature-checks).
// The only endpoint of this group that calls a node, so it has its own rate limit. It calls the configured node only.
import { extensions } from '#api/contract/extensions.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Quote } from '#api/contract/wire/fx.ts'
import type { SignatureDiagnosis } from '#api/contract/wire/fx-signature-check.ts'
import { invalid } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import type { Clock } from '#runtime/clock.ts'
import { readQuote } from '../../pricing/quotes.ts'
import { diagnose, type SignatureInput } from './diagnose-signature.ts'
import { TypedDataTooLarge } from './hash-typed-data.ts'
import { readSettlementFindings } from './settlement.ts'

export const checkSignature = createHandler(extensions['fx.checkSignature'], async (input, context, { caller }) => {
  const stored = await readQuote(context.state, input.id, caller.keyId)
  if (!stored) return { is: 'nothing' }
  const quote = parseJson(new TextDecoder().decode(stored.reply)) as Quote
  const { signature, signer, typedData: signed } = input
  return {
    is: 'body',
    body: await examineSignature(quote, { signature, signer, signed }, context.settings.fx.rpcUrl, context.clock),
  }
})

/** Any length: contract signatures (EIP-1271) have no fixed format. */
const isBytes = /^0x([0-9a-fA-F]{2})*$/

/** The diagnosis, plus the state on the chain if `rpcUrl` is not empty. */
export async function examineSignature(
  quote: Quote,
  input: Pick<SignatureInput, 'signature' | 'signer' | 'signed'>,
  rpcUrl: string,
  clock: Clock,
): Promise<SignatureDiagnosis> {
  const { typedData } = quote
  if (!typedData) {
    throw invalid(['path', 'id'], 'is the id of a reference quote, which has nothing to sign', quote.id)
  }
  if (!isBytes.test(input.signature)) {
    throw invalid(['body', 'signature'], 'must be 0x followed by an even number of hexadecimal digits')
  }
  const diagnosis = diagnoseOrRefuse({ quote: { ...quote, typedData }, ...input, nowMs: clock.now() })
  const signer = input.signer ?? diagnosis.signer
  if (rpcUrl === '' || signer === null) return { ...diagnosis, chain: [] }
  const chain = await readSettlementFindings(
    rpcUrl,
    { typedData, signer, signature: input.signature, digest: diagnosis.digest },
    clock,
  )
  // If the signer is a contract, its EIP-1271 result decides, not the format of the bytes.
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
