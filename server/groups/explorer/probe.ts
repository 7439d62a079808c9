// Asks a node for a first funding within a request: the one place where answering reaches beyond the store. What is
// found and final is stored, so that it is asked once.
//
// 1. Callers who ask for the same address at the same time wait for the same search.
// 2. At most `parallelMax` searches are under way; further ones are refused, not queued.
// 3. What a search has shown is kept also when it could not finish: the next one goes on from there (decision 0066).
import { Fault } from '#core/fault.ts'
import type { Confidence, Desk } from '#serve/answer.ts'
import type { StateWriter } from '#store/state.ts'
import { type Funding, putProven } from './fundings.ts'
import { type ChainNode, nodeOf } from './node.ts'
import { dropMark, findMark, type Mark, putMark } from './probe-marks.ts'
import { type Walked, walk } from './probe-walk.ts'

export interface Probed {
  readonly funding: Funding | undefined
  readonly confidence: Confidence
}

const underWay = new WeakMap<Desk['state'], Map<string, Promise<Probed>>>()

/** Whether a search is an answer to be had for this chain. */
export function probeable(desk: Desk, chain: string): boolean {
  const node = nodeOf(desk, chain)
  return node !== undefined && node.chain.mode !== 'index'
}

export function probe(desk: Desk, chain: string, address: string): Promise<Probed> {
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
  const search = look(desk, node, address).finally(() => searches.delete(name))
  searches.set(name, search)
  return search
}

async function look(desk: Desk, node: ChainNode, address: string): Promise<Probed> {
  const { fanOut, callsMax, blocksMax, timeoutMs } = desk.settings.explorer.probe
  const untilMs = desk.clock.monotonicMs() + timeoutMs
  const chain = node.chain.id
  const since = await findMark(desk.state, chain, address)
  const reached: { mark?: Mark } = {}
  const keep = (mark: Mark) => {
    reached.mark = mark
  }
  let walked: Walked | undefined
  try {
    walked = await walk(node, address, { fanOut, callsMax, blocksMax, untilMs, since, keep })
  } finally {
    const { mark } = reached
    if (mark && !walked?.funding) await desk.state.write((tx) => putMark(tx, chain, address, mark))
  }
  const { funding, final, asOf } = walked
  if (funding && final && !(await desk.state.write((tx) => settle(tx, funding)))) throw refuted(funding)
  return { funding, confidence: { asOf, finality: final ? 'finalized' : 'head', coverage: 'probed' } }
}

async function settle(tx: StateWriter, funding: Funding): Promise<boolean> {
  await dropMark(tx, funding.chain, funding.address)
  return putProven(tx, funding)
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
