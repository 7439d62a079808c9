// Reads the first fundings of many addresses from stored data: from the index and from earlier searches. Asks no node.
//
// 1. Each result is what 4.3 would return from the store (funding/find-first-funding.ts). Where 4.3 would search or
//    fail, the status is `not_covered`.
// 2. Coverage is read before the records, as in 4.3.
import type { StoredFunding } from '#api/contract/wire/fundings.ts'
import type { Confidence } from '#http/handler.ts'
import type { ExplorerContext } from '../../context.ts'
import { toFundingRecord } from '../../endpoints/funded-by.ts'
import { type ChainCoverage, getChainCoverage, toConfidence, toEmptyConfidence } from '../../funding/chain-coverage.ts'
import { judgeStored, type StoredVerdict } from '../../funding/find-first-funding.ts'
import { type Funding, findFundings, isBefore } from '../../funding/fundings.ts'
import { findUnfinalizedFundings } from '../../funding/index/unfinalized.ts'
import { findLabels, type Tag } from '../../labels/tags.ts'
import { toLabel } from '../trail/follow-trail.ts'

export interface StoredFundings {
  /** One for each address, in their order. */
  readonly records: readonly StoredFunding[]
  readonly confidence: Confidence
}

type Finding = Exclude<StoredVerdict, { is: 'notFinal' }> | { readonly is: 'none'; readonly confidence: Confidence }

/** `addresses` are in lower case. */
export async function readStoredFundings(
  context: ExplorerContext,
  chain: string,
  addresses: readonly string[],
): Promise<StoredFundings> {
  const { ingest } = context
  const coverage = await getChainCoverage(context, chain)
  const wanted = [...new Set(addresses)]
  const stored = byAddress(await findFundings(ingest, chain, wanted))
  const verdicts = new Map(wanted.map((address) => [address, judgeStored(context, coverage, stored.get(address))]))
  const notFinal = wanted.filter((address) => verdicts.get(address)?.is === 'notFinal')
  const unfinalized = byAddress(await findUnfinalizedFundings(ingest, chain, notFinal))
  // A funding may have become final between the reads.
  const later = byAddress(
    await findFundings(
      ingest,
      chain,
      notFinal.filter((address) => !unfinalized.has(address)),
    ),
  )
  const findings = new Map<string, Finding>()
  for (const [address, verdict] of verdicts) {
    const found = unfinalized.get(address)
    findings.set(
      address,
      verdict.is === 'notFinal' ? judgeNotFinal(context, coverage, found, later.get(address)) : verdict,
    )
  }
  const funders = [...findings.values()].flatMap((finding) => (finding.is === 'known' ? [finding.funding.funder] : []))
  const labels = await findLabels(ingest, chain, [...new Set(funders)])
  return {
    records: addresses.map((address) => toRecord(address, findings.get(address) as Finding, labels)),
    confidence: toSharedConfidence(coverage, [...findings.values()]),
  }
}

/** The earliest of each address, because several unfinalized blocks may have a transfer to it. */
function byAddress(fundings: readonly Funding[]): Map<string, Funding> {
  const first = new Map<string, Funding>()
  for (const funding of fundings) {
    const known = first.get(funding.address)
    if (!known || isBefore(funding, known)) first.set(funding.address, funding)
  }
  return first
}

function judgeNotFinal(
  context: ExplorerContext,
  coverage: ChainCoverage,
  unfinalized: Funding | undefined,
  later: Funding | undefined,
): Finding {
  if (unfinalized)
    return {
      is: 'known',
      funding: unfinalized,
      confidence: { asOf: unfinalized.block, finality: 'head', coverage: 'complete' },
    }
  if (later) return { is: 'known', funding: later, confidence: toConfidence(coverage, true) }
  return { is: 'none', confidence: toEmptyConfidence(context, coverage) }
}

function toRecord(address: string, finding: Finding, labels: ReadonlyMap<string, Tag>): StoredFunding {
  if (finding.is === 'unknown') return { address, status: 'not_covered', message: `${finding.message}.` }
  const { finality = 'finalized', asOf } = finding.confidence
  if (finding.is === 'none') return { address, status: 'none', finality, message: describeNone(asOf) }
  const { funding } = finding
  const label = labels.get(funding.funder)
  return {
    address,
    status: 'funded',
    funding: toFundingRecord(funding),
    finality,
    ...(label && { label: toLabel(label) }),
  }
}

export const describeNone = (asOf: string | number | undefined): string => `No transfer came in up to block ${asOf}.`

/**
 * Results of searches need no index, so their response is `probed` without one. Otherwise it shows what is indexed, and
 * `complete` only if every result is known.
 */
function toSharedConfidence(coverage: ChainCoverage, findings: readonly Finding[]): Confidence {
  const known = findings.filter((finding) => finding.is !== 'unknown')
  const isComplete = known.length === findings.length
  if (isComplete && known.every(({ confidence }) => confidence.coverage === 'probed'))
    return { finality: 'finalized', coverage: 'probed' }
  const isIndexComplete = known.some(({ confidence }) => confidence.coverage === 'complete')
  const finality = known.some(({ confidence }) => confidence.finality === 'head') ? 'head' : 'finalized'
  return { ...toConfidence(coverage, isComplete && isIndexComplete), finality }
}
