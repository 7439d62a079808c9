// Beyond the specification: the trail of first fundings (behaviour/explorer.md#funding-trail). Every hop is the answer of 4.3, so the trail is
// exactly as sure of itself as that is; where 4.3 would fail, the trail ends and says why.
//
// 1. Bounded in hops and in time. A search that time cut off goes on and is stored, so asking again gets further.
// 2. A hop never goes forward in time, down to the transfers of one transaction: an address that paid before anything came
//    in had its coin from elsewhere.
import { extensions } from '#api/extensions.ts'
import type { AddressLabel, Trail, TrailEnd, TrailHop } from '#api/wire/trail.ts'
import { Fault, invalid } from '#core/fault.ts'
import { type Confidence, createHandler } from '#http/handler.ts'
import { requireServedChain } from '../chains.ts'
import type { ExplorerContext } from '../context.ts'
import { findFirstFunding, toFundingRecord } from '../endpoints/funded-by.ts'
import { explorerErrorFormat } from '../error-format.ts'
import { type Funding, isBefore } from '../funding/fundings.ts'
import { findBestTag, type Tag } from '../labels/tags.ts'

const addressText = /^0x[0-9a-f]{40}$/

/** Part of the time a request may take; the rest is for the answer's own way out. */
const shareOfRequest = 0.8

export interface TrailBounds {
  readonly depth: number
  readonly timeoutMs: number
}

export const trail = createHandler(
  extensions['explorer.trail'],
  explorerErrorFormat,
  async ({ chainid, address: given, depth }, context: ExplorerContext) => {
    const address = given.toLowerCase()
    if (!addressText.test(address)) throw invalid(['query', 'address'], 'must be 0x and 40 hexadecimal digits')
    const timeoutMs = context.settings.server.answerTimeoutMs * shareOfRequest
    const { result, ...rest } = await followTrail(context, chainid, address, { depth, timeoutMs })
    return { is: 'body', body: { status: '1', message: 'OK', result }, ...rest }
  },
  requireServedChain,
)

/** What 4.3 says about one address. */
type TrailStep =
  | { readonly is: 'funding'; readonly funding: Funding; readonly confidence: Confidence }
  | { readonly is: 'none'; readonly confidence: Confidence }
  | { readonly is: 'unknown'; readonly message: string; readonly retryAfterMs: number | undefined }
  | typeof timedOut

/** What was found is stored, so the next call has its time for what is left. */
const timedOut = { is: 'late', retryAfterMs: 1000 } as const

type TrailEndRecord = Trail['end']

export interface TrailResult {
  readonly result: Trail
  readonly confidence: Confidence
  /** Where the next call may get further: when. The figure of 4.3, where that is what ends the trail. */
  readonly retryAfterMs?: number
}

export async function followTrail(
  context: ExplorerContext,
  chainid: string,
  address: string,
  bounds: TrailBounds,
): Promise<TrailResult> {
  const untilMs = context.clock.monotonicMs() + bounds.timeoutMs
  const hops: TrailHop[] = []
  let paid: Funding | undefined
  const confidences: Confidence[] = []
  const ownLabel = await findLabel(context, chainid, address)
  let at = address
  let end: TrailEndRecord | undefined
  let retryAfterMs: number | undefined
  while (!end) {
    const step = await findStepInTime(context, chainid, at, untilMs)
    if ('confidence' in step) confidences.push(step.confidence)
    else retryAfterMs = step.retryAfterMs
    end = endWithoutHop(step, at, paid)
    if (end || step.is !== 'funding') break
    paid = step.funding
    const { funder } = paid
    const label = await findLabel(context, chainid, funder)
    hops.push({ address: at, ...toFundingRecord(paid), ...(label && { label }) })
    end = endAfterHop(hops, funder, label, bounds.depth)
    at = funder
  }
  if (!end) throw new Error(`the trail of ${address} has no end`)
  const result = { chainid, address, ...(ownLabel && { label: ownLabel }), hops, end }
  return { result, confidence: leastCertain(confidences), ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

/** Why there is no hop from here. `paid` is the transfer that the address made. */
function endWithoutHop(step: TrailStep, at: string, paid: Funding | undefined): TrailEndRecord | undefined {
  if (step.is === 'unknown') return toTrailEnd('unknown', at, step.message)
  if (step.is === 'late') return toTrailEnd('time', at, 'The time of this call is over; ask again to go further.')
  if (step.is === 'none') {
    if (!paid) return toTrailEnd('none', at, 'No transfer ever came in.')
    return toTrailEnd(
      'genesis',
      at,
      'No transfer ever came in: its coin is from genesis, block rewards or withdrawals.',
    )
  }
  if (!paid || !isBefore(paid, step.funding)) return undefined
  return toTrailEnd(
    'genesis',
    at,
    `It paid in block ${paid.block}, before the first transfer to it in block ${step.funding.block}: its coin was from genesis, block rewards or withdrawals.`,
  )
}

/** Why the hop just made was the last. */
function endAfterHop(
  hops: readonly TrailHop[],
  funder: string,
  label: AddressLabel | undefined,
  depth: number,
): TrailEndRecord | undefined {
  if (label) return toTrailEnd('label', funder, label.name)
  const before = hops.findIndex(({ address }) => address === funder)
  if (before >= 0) return toTrailEnd('loop', funder, `The trail has been here before, at hop ${before + 1}.`)
  if (hops.length >= depth)
    return toTrailEnd('depth', funder, `${depth === 1 ? '1 hop was' : `${depth} hops were`} asked for, and it goes on.`)
  return undefined
}

const toTrailEnd = (reason: TrailEnd, address: string, message: string): TrailEndRecord => ({
  reason,
  address,
  message,
})

/** Only what group A itself cannot tell ends a trail; a store that fails is a failure of the call. */
async function findStepInTime(
  context: ExplorerContext,
  chain: string,
  address: string,
  untilMs: number,
): Promise<TrailStep> {
  const { clock } = context
  const leftMs = untilMs - clock.monotonicMs()
  if (leftMs <= 0) return timedOut
  const found = findStep(context, chain, address)
  const done = new AbortController()
  const over = clock.sleep(leftMs, done.signal).then(() => timedOut)
  try {
    return await Promise.race([found, over])
  } finally {
    done.abort()
    // Nobody may be left to hear how a search that took too long went wrong.
    found.catch(() => {})
  }
}

async function findStep(context: ExplorerContext, chain: string, address: string): Promise<TrailStep> {
  try {
    const { funding, confidence } = await findFirstFunding(context, chain, address)
    return funding ? { is: 'funding', funding, confidence } : { is: 'none', confidence }
  } catch (error) {
    if (!(error instanceof Fault) || !error.code.startsWith('explorer.')) throw error
    return { is: 'unknown', message: error.publicMessage, retryAfterMs: error.retryAfterMs }
  }
}

async function findLabel(
  { state }: ExplorerContext,
  chain: string,
  address: string,
): Promise<AddressLabel | undefined> {
  const tag = await findBestTag(state, chain, address)
  return tag && toLabel(tag)
}

const toLabel = ({ name, entity, source, confidence, evidenceUrl }: Tag): AddressLabel => ({
  name,
  ...(entity !== '' && { entity }),
  source,
  confidence,
  ...(evidenceUrl !== '' && { evidence: evidenceUrl }),
})

/** A trail is as sure as its least sure hop. */
function leastCertain(all: readonly Confidence[]): Confidence {
  if (all.length === 0) return {}
  const coverage = all.map(({ coverage = 'none' }) => coverage).find((one) => one !== 'complete') ?? 'complete'
  return { finality: all.some(({ finality }) => finality === 'head') ? 'head' : 'finalized', coverage }
}
