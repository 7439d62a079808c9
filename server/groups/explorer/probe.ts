// Asks a node for a first funding within a request: the one place where answering reaches beyond the store. What is
// found and final is stored, so that it is asked once.
//
// 1. Callers who ask for the same address at the same time wait for the same search.
// 2. At most `parallelMax` searches are under way; further ones are refused, not queued.
// 3. What a search has shown is kept also when it could not finish: the next one goes on from there (decision 0066), and the
//    server goes on with it by itself (probe-later.ts, decision 0162).
import { Fault } from '#core/fault.ts'
import type { Confidence, Desk } from '#serve/answer.ts'
import type { StateWriter } from '#store/state.ts'
import { type Funding, findFunding, type Proof, putProven } from './fundings.ts'
import { type ChainNode, nodeOf } from './node.ts'
import type { WalkLimits } from './probe-asks.ts'
import { goesOn, isUnfinished } from './probe-faults.ts'
import { dropMark, findMark, type Mark, putMark } from './probe-marks.ts'
import { type Walked, walk } from './probe-walk.ts'
import { enlist, Pace, type ProbeDesk, waitMsOf } from './probe-wanted.ts'
import { readUntil, type Standing, standingOf } from './standing.ts'

export interface Probed {
  readonly funding: Funding | undefined
  readonly confidence: Confidence
}

const underWay = new WeakMap<Desk['state'], Map<string, Promise<Probed>>>()

/** Whether a search is an answer to be had for this chain. */
export function probeable(desk: ProbeDesk, chain: string): boolean {
  const node = nodeOf(desk, chain)
  return node !== undefined && node.chain.mode !== 'index'
}

/** A funding that was only looked for is searched for again by the server itself, where more blocks may be read now (decision 0165). */
export async function wantSurer(desk: ProbeDesk, standing: Standing, funding: Funding): Promise<void> {
  const { chain, address, block, proven } = funding
  if (proven !== 'looked' || !probeable(desk, chain)) return
  const can = nodeOf(desk, chain)?.known()
  if ((can && !can.traces) || block - readUntil(standing) > desk.settings.explorer.probe.sureBlocks) return
  await enlist(desk, chain, address, false)
}

/** Up to here the index holds no transfer to the address. The standing is asked for before the row, as in 4.3. */
async function readUpTo(desk: ProbeDesk, chain: string, address: string): Promise<number> {
  const until = readUntil(await standingOf(desk, chain))
  const stored = await findFunding(desk.state, chain, address)
  return Math.min(until, stored?.block ?? until) - 1
}

/** `bounds` replaces those of a call. */
export function probe(
  desk: ProbeDesk,
  chain: string,
  address: string,
  bounds: Partial<WalkLimits> = {},
): Promise<Probed> {
  const searches = underWay.get(desk.state) ?? new Map<string, Promise<Probed>>()
  underWay.set(desk.state, searches)
  const name = `${chain}/${address}`
  const known = searches.get(name)
  if (known) return known
  const node = nodeOf(desk, chain)
  if (!node) throw new Fault('explorer.node_unavailable', { detail: `chain ${chain} has no node` })
  if (!node.chain.archive)
    throw new Fault('explorer.not_archive', { detail: `explorer.chains: chain ${chain} has archive: false` })
  if (searches.size >= desk.settings.explorer.probe.parallelMax) throw tooMany(searches.size)
  const search = look(desk, node, address, bounds).finally(() => searches.delete(name))
  searches.set(name, search)
  return search
}

/** A search comes to an end by itself at this share of its time, so that it can still say how far it came. */
const shareOfTime = 0.75

async function look(desk: ProbeDesk, node: ChainNode, address: string, bounds: Partial<WalkLimits>): Promise<Probed> {
  const { clock, state, settings } = desk
  const { timeoutMs, ...limits } = settings.explorer.probe
  const chain = node.chain.id
  const startMs = clock.monotonicMs()
  const over = () => clock.monotonicMs() > startMs + timeoutMs * shareOfTime
  const since = await findMark(state, chain, address)
  const read = await readUpTo(desk, chain, address)
  const pace = new Pace(clock)
  let mark: Mark | undefined
  const keep = (reached: Mark) => {
    mark = reached
    pace.at(reached.block)
  }
  let walked: Walked | undefined
  try {
    const untilMs = startMs + timeoutMs
    walked = await walk(node, address, { ...limits, untilMs, over, readUpTo: read, since, keep, ...bounds })
  } catch (error) {
    pace.note(state, chain)
    throw error instanceof Fault && isUnfinished(error) ? await goingOn(desk, chain, address, error) : error
  } finally {
    const reached = mark
    if (reached && !walked?.funding) await state.write((tx) => putMark(tx, chain, address, reached))
  }
  const { funding, final, asOf, proof } = walked
  if (funding && final && !(await state.write((tx) => settle(tx, funding, proof)))) throw refuted(funding)
  return { funding, confidence: { asOf, finality: final ? 'finalized' : 'head', coverage: proof } }
}

/** The same failure, and when to ask again: the server goes on meanwhile, where there is room for one more search. */
async function goingOn(desk: ProbeDesk, chain: string, address: string, fault: Fault): Promise<Fault> {
  const wanted = await enlist(desk, chain, address, true)
  if (wanted === undefined) return fault
  const blocks = Number(fault.terms.head ?? 0) - Number(fault.terms.at ?? 0)
  return goesOn(fault, waitMsOf(desk.state, chain, wanted, blocks))
}

async function settle(tx: StateWriter, funding: Funding, proof: Proof): Promise<boolean> {
  await dropMark(tx, funding.chain, funding.address)
  return putProven(tx, funding, proof)
}

const tooMany = (count: number): Fault =>
  new Fault('explorer.node_unavailable', {
    says: 'Too many searches are under way; try again in a moment.',
    detail: `${count} searches are under way, which is explorer.probe.parallelMax`,
    retryAfterMs: 1000,
  })

/** Only a contract that destroyed itself and came back can do this. */
const refuted = ({ block }: Funding): Fault =>
  new Fault('explorer.probe_bounds', {
    says: `A search finds a first funding in block ${block}, but an earlier transfer is on record; the chain must be indexed to tell`,
  })
