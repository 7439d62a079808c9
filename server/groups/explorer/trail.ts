// Beyond the specification: the trail of first fundings (decision 0096). Every hop is the answer of 4.3, so the trail is
// exactly as sure of itself as that is; where 4.3 would fail, the trail ends and says why.
//
// 1. Bounded in hops and in time. A search that time cut off goes on and is stored, so asking again gets further.
// 2. A hop never goes forward in time, down to the transfers of one transaction: an address that paid before anything came
//    in had its coin from elsewhere.
import { extensions } from '#api/extensions.ts'
import type { AddressLabel, Trail, TrailEnd, TrailHop } from '#api/wire/trail.ts'
import { Fault, invalid } from '#core/fault.ts'
import { answer, type Confidence } from '#serve/answer.ts'
import { servedChain } from './chains.ts'
import type { ExplorerContext } from './context.ts'
import { findFirstFunding, toRecord } from './funded-by.ts'
import { type Funding, isBefore } from './fundings.ts'
import { shape } from './shape.ts'
import { type Tag, tagOf } from './tags.ts'

const addressText = /^0x[0-9a-f]{40}$/

/** Part of the time a request may take; the rest is for the answer's own way out. */
const shareOfRequest = 0.8

export interface TrailBounds {
  readonly depth: number
  readonly timeoutMs: number
}

export const trail = answer(
  extensions['explorer.trail'],
  shape,
  async ({ chainid, address: given, depth }, context: ExplorerContext) => {
    const address = given.toLowerCase()
    if (!addressText.test(address)) throw invalid(['query', 'address'], 'must be 0x and 40 hexadecimal digits')
    const timeoutMs = context.settings.server.answerTimeoutMs * shareOfRequest
    const { result, ...told } = await followTrail(context, chainid, address, { depth, timeoutMs })
    return { is: 'body', body: { status: '1', message: 'OK', result }, ...told }
  },
  servedChain,
)

/** What 4.3 says about one address. */
type Step =
  | { readonly is: 'funding'; readonly funding: Funding; readonly confidence: Confidence }
  | { readonly is: 'none'; readonly confidence: Confidence }
  | { readonly is: 'unknown'; readonly says: string; readonly retryAfterMs: number | undefined }
  | typeof late

/** What was found is stored, so the next call has its time for what is left. */
const late = { is: 'late', retryAfterMs: 1000 } as const

type End = Trail['end']

export interface Followed {
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
): Promise<Followed> {
  const untilMs = context.clock.monotonicMs() + bounds.timeoutMs
  const hops: TrailHop[] = []
  let paid: Funding | undefined
  const sureness: Confidence[] = []
  const own = await labelOf(context, chainid, address)
  let at = address
  let end: End | undefined
  let retryAfterMs: number | undefined
  while (!end) {
    const step = await stepFrom(context, chainid, at, untilMs)
    if ('confidence' in step) sureness.push(step.confidence)
    else retryAfterMs = step.retryAfterMs
    end = endBefore(step, at, paid)
    if (end || step.is !== 'funding') break
    paid = step.funding
    const { funder } = paid
    const label = await labelOf(context, chainid, funder)
    hops.push({ address: at, ...toRecord(paid), ...(label && { label }) })
    end = endAfter(hops, funder, label, bounds.depth)
    at = funder
  }
  if (!end) throw new Error(`the trail of ${address} has no end`)
  const result = { chainid, address, ...(own && { label: own }), hops, end }
  return { result, confidence: leastSure(sureness), ...(retryAfterMs !== undefined && { retryAfterMs }) }
}

/** Why there is no hop from here. `paid` is the transfer that the address made. */
function endBefore(step: Step, at: string, paid: Funding | undefined): End | undefined {
  if (step.is === 'unknown') return ending('unknown', at, step.says)
  if (step.is === 'late') return ending('time', at, 'The time of this call is over; ask again to go further.')
  if (step.is === 'none') {
    if (!paid) return ending('none', at, 'No transfer ever came in.')
    return ending('genesis', at, 'No transfer ever came in: its coin is from genesis, block rewards or withdrawals.')
  }
  if (!paid || !isBefore(paid, step.funding)) return undefined
  return ending(
    'genesis',
    at,
    `It paid in block ${paid.block}, before the first transfer to it in block ${step.funding.block}: its coin was from genesis, block rewards or withdrawals.`,
  )
}

/** Why the hop just made was the last. */
function endAfter(
  hops: readonly TrailHop[],
  funder: string,
  label: AddressLabel | undefined,
  depth: number,
): End | undefined {
  if (label) return ending('label', funder, label.name)
  const before = hops.findIndex(({ address }) => address === funder)
  if (before >= 0) return ending('loop', funder, `The trail has been here before, at hop ${before + 1}.`)
  if (hops.length >= depth)
    return ending('depth', funder, `${depth === 1 ? '1 hop was' : `${depth} hops were`} asked for, and it goes on.`)
  return undefined
}

const ending = (reason: TrailEnd, address: string, says: string): End => ({ reason, address, says })

/** Only what group A itself cannot tell ends a trail; a store that fails is a failure of the call. */
async function stepFrom(context: ExplorerContext, chain: string, address: string, untilMs: number): Promise<Step> {
  const { clock } = context
  const leftMs = untilMs - clock.monotonicMs()
  if (leftMs <= 0) return late
  const found = findStep(context, chain, address)
  const done = new AbortController()
  const over = clock.sleep(leftMs, done.signal).then(() => late)
  try {
    return await Promise.race([found, over])
  } finally {
    done.abort()
    // Nobody may be left to hear how a search that took too long went wrong.
    found.catch(() => {})
  }
}

async function findStep(context: ExplorerContext, chain: string, address: string): Promise<Step> {
  try {
    const { funding, confidence } = await findFirstFunding(context, chain, address)
    return funding ? { is: 'funding', funding, confidence } : { is: 'none', confidence }
  } catch (error) {
    if (!(error instanceof Fault) || !error.code.startsWith('explorer.')) throw error
    return { is: 'unknown', says: error.says, retryAfterMs: error.retryAfterMs }
  }
}

async function labelOf({ state }: ExplorerContext, chain: string, address: string): Promise<AddressLabel | undefined> {
  const tag = await tagOf(state, chain, address)
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
function leastSure(all: readonly Confidence[]): Confidence {
  if (all.length === 0) return {}
  const coverage = all.map(({ coverage = 'none' }) => coverage).find((one) => one !== 'complete') ?? 'complete'
  return { finality: all.some(({ finality }) => finality === 'head') ? 'head' : 'finalized', coverage }
}
