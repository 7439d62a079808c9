// Follows first fundings from an address to its funder, and on (behaviour/explorer.md#funding-trail). Each hop is a
// result of 4.3. Where 4.3 would fail, the trail ends and reports the reason.
//
// 1. Hops and time are limited. A search that runs out of time continues and is stored, so the next request gets
//    further.
// 2. A hop never goes forward in time, not even within a transaction: an address that paid before it received anything
//    got its coins from genesis, rewards or withdrawals.
import type { AddressLabel, Trail, TrailEnd, TrailHop } from '#api/contract/wire/trail.ts'
import { counted } from '#core/counted.ts'
import { Fault } from '#core/fault.ts'
import type { Confidence } from '#http/handler.ts'
import type { ExplorerContext } from '../../context.ts'
import { toFundingRecord } from '../../endpoints/funded-by.ts'
import { findFirstFunding } from '../../funding/find-first-funding.ts'
import { type Funding, isBefore } from '../../funding/fundings.ts'
import { findTags, type Tag } from '../../labels/tags.ts'

/** The result of 4.3 for one address. */
type TrailStep =
  | { readonly is: 'funding'; readonly funding: Funding; readonly confidence: Confidence }
  | { readonly is: 'none'; readonly confidence: Confidence }
  | { readonly is: 'unknown'; readonly fault: Fault; readonly retryAfterMs: number | undefined }
  | typeof timedOut

/** Results are stored, so the next request can use its time for the remaining hops. */
const timedOut = { is: 'late', retryAfterMs: 1000 } as const

type TrailEndRecord = Trail['end']

export interface TrailResult {
  readonly result: Trail
  readonly confidence: Confidence
  /** When the next request may get further. */
  readonly retryAfterMs?: number
}

/** `onUnknown` gets the error that ends a trail. Its private message may name nodes, so it is not in the result. */
export async function followTrail(
  context: ExplorerContext,
  chainid: string,
  address: string,
  bounds: { readonly depth: number; readonly timeoutMs: number },
  onUnknown: (fault: Fault) => void = () => {},
): Promise<TrailResult> {
  const untilMs = context.clock.monotonicMs() + bounds.timeoutMs
  const hops: TrailHop[] = []
  let previous: Funding | undefined
  const confidences: Confidence[] = []
  const ownLabel = await findLabel(context, chainid, address)
  let at = address
  let end: TrailEndRecord | undefined
  let retryAfterMs: number | undefined
  while (!end) {
    const step = await findStepInTime(context, chainid, at, untilMs)
    if ('confidence' in step) confidences.push(step.confidence)
    else retryAfterMs = step.retryAfterMs
    if (step.is === 'unknown') onUnknown(step.fault)
    end = endWithoutHop(step, at, previous)
    if (end || step.is !== 'funding') break
    previous = step.funding
    const { funder } = previous
    const label = await findLabel(context, chainid, funder)
    hops.push({ address: at, ...toFundingRecord(previous), ...(label && { label }) })
    end = endAfterHop(hops, funder, label, bounds.depth)
    at = funder
  }
  if (!end) throw new Error(`the trail of ${address} has no end`)
  const result = { chainid, address, ...(ownLabel && { label: ownLabel }), hops, end }
  return { result, confidence: leastCertain(confidences), ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

/** Why there is no hop from this address. `paid` is the transfer that the address made to the previous one. */
function endWithoutHop(step: TrailStep, at: string, paid: Funding | undefined): TrailEndRecord | undefined {
  if (step.is === 'unknown') return toTrailEnd('unknown', at, step.fault.publicMessage)
  if (step.is === 'late')
    return toTrailEnd('time', at, 'The time limit was reached. Repeat the request to get further.')
  if (step.is === 'none') {
    if (!paid) return toTrailEnd('none', at, 'No incoming transfer.')
    return toTrailEnd('genesis', at, 'No incoming transfer: its coins come from genesis, block rewards or withdrawals.')
  }
  if (!paid || !isBefore(paid, step.funding)) return undefined
  return toTrailEnd(
    'genesis',
    at,
    `It paid in block ${paid.block}, before its first incoming transfer in block ${step.funding.block}: its coins come from genesis, block rewards or withdrawals.`,
  )
}

/** Why the hop that was just added is the last one. */
function endAfterHop(
  hops: readonly TrailHop[],
  funder: string,
  label: AddressLabel | undefined,
  depth: number,
): TrailEndRecord | undefined {
  if (label) return toTrailEnd('label', funder, label.name)
  const hop = hops.findIndex(({ address }) => address === funder)
  if (hop >= 0) return toTrailEnd('loop', funder, `Loop: same address as in hop ${hop + 1}.`)
  if (hops.length >= depth)
    return toTrailEnd('depth', funder, `The trail continues after the requested ${counted(depth, 'hop')}.`)
  return undefined
}

const toTrailEnd = (reason: TrailEnd, address: string, message: string) => ({ reason, address, message })

async function findStepInTime(
  context: ExplorerContext,
  chain: string,
  address: string,
  untilMs: number,
): Promise<TrailStep> {
  const { clock } = context
  const leftMs = untilMs - clock.monotonicMs()
  if (leftMs <= 0) return timedOut
  const step = findStep(context, chain, address)
  const done = new AbortController()
  const timeout = clock.sleep(leftMs, done.signal).then(() => timedOut)
  try {
    return await Promise.race([step, timeout])
  } finally {
    done.abort()
    // The search continues until the response is sent, and may then fail without a listener.
    step.catch(() => {})
  }
}

async function findStep(context: ExplorerContext, chain: string, address: string): Promise<TrailStep> {
  try {
    const { funding, confidence } = await findFirstFunding(context, chain, address)
    return funding ? { is: 'funding', funding, confidence } : { is: 'none', confidence }
  } catch (error) {
    // An explorer error ends the trail. Others, such as a failing store, fail the request.
    if (!(error instanceof Fault) || !error.code.startsWith('explorer.')) throw error
    return { is: 'unknown', fault: error, retryAfterMs: error.retryAfterMs }
  }
}

export async function findLabel(
  { ingest }: Pick<ExplorerContext, 'ingest'>,
  chain: string,
  address: string,
): Promise<AddressLabel | undefined> {
  const [tag] = await findTags(ingest, address, { chain })
  return tag && toLabel(tag)
}

export const toLabel = ({ name, entity, source, confidence, evidenceUrl }: Tag): AddressLabel => ({
  name,
  ...(entity !== '' && { entity }),
  source,
  confidence,
  ...(evidenceUrl !== '' && { evidence: evidenceUrl }),
})

/** The confidence of the least certain hop. */
function leastCertain(all: readonly Confidence[]): Confidence {
  if (all.length === 0) return {}
  const coverage =
    all.map(({ coverage = 'none' }) => coverage).find((coverage) => coverage !== 'complete') ?? 'complete'
  return { finality: all.some(({ finality }) => finality === 'head') ? 'head' : 'finalized', coverage }
}
