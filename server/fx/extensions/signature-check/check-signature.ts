// Extension: checks a signature over a quote and explains what is wrong with it (behaviour/fx.md#signature-checks).
// The only endpoint of this group that calls a node, so it has its own rate limit and its own
// queue. It calls the configured node only.
import { extensions } from '#api/contract/extensions.ts'
import { parseJson } from '#api/contract/json.ts'
import type { Quote } from '#api/contract/wire/fx.ts'
import type { SignatureDiagnosis } from '#api/contract/wire/fx-signature-check.ts'
import { invalid } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import type { Clock } from '#runtime/clock.ts'
import type { FxContext } from '../../context.ts'
import { readQuote } from '../../pricing/quotes.ts'
import { diagnose, type SignatureInput } from './diagnose-signature.ts'
import { TypedDataTooLarge } from './hash-typed-data.ts'
import { readSettlement, type Settlement, type SettlementInput } from './settlement.ts'

export const checkSignature = createHandler(
  extensions['fx.checkSignature'],
  async (input, context: FxContext, { caller, signal }) => {
    const { state, settings, clock, log, fx } = context
    const stored = await readQuote(state, input.id, caller.keyId)
    if (!stored) return { is: 'nothing' }
    const quote = parseJson(new TextDecoder().decode(stored.reply)) as Quote
    const { rpcUrl: url, rpcGasMax: gasMax } = settings.fx
    const reportFailure = (reason: string) => {
      const count = fx.nodeFailures.countToLog(reason)
      if (count !== undefined) log.warn({ count, reason }, 'a signature was not checked with the node')
    }
    const readChain: ReadChain = (settlement) =>
      fx.nodeCalls.run(
        caller.keyId,
        () => readSettlement({ url, gasMax, clock, signal, reportFailure }, settlement),
        signal,
      )
    const { signature, signer, typedData: signed } = input
    const body = await examineSignature(quote, { signature, signer, signed }, clock, url === '' ? undefined : readChain)
    return { is: 'body', body }
  },
)

export type ReadChain = (input: SettlementInput) => Promise<Settlement>

/** Any length: contract signatures (EIP-1271) have no fixed format. */
const isBytes = /^0x([0-9a-fA-F]{2})*$/

/** The diagnosis, plus the state on the chain if there is a node. */
export async function examineSignature(
  quote: Quote,
  input: Pick<SignatureInput, 'signature' | 'signer' | 'signed'>,
  clock: Clock,
  readChain: ReadChain | undefined,
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
  if (!readChain || signer === null) return { ...diagnosis, chain: [] }
  const { findings, signer: answer } = await readChain({
    typedData,
    signer,
    signature: input.signature,
    digest: diagnosis.digest,
  })
  const chain = [...findings]
  // If the signer is a contract, its EIP-1271 result decides, not the format of the bytes.
  if (!answer || input.signer === undefined) return { ...diagnosis, chain }
  return {
    ...diagnosis,
    verdict: verdicts[answer],
    findings: answer === 'accepts' ? [] : diagnosis.findings,
    chain,
  }
}

const verdicts = { accepts: 'good', rejects: 'bad', unknown: 'unknown' } as const

function diagnoseOrRefuse(input: SignatureInput): ReturnType<typeof diagnose> {
  try {
    return diagnose(input)
  } catch (error) {
    if (error instanceof TypedDataTooLarge) throw invalid(['body', 'typedData'], error.message)
    throw error
  }
}
