// How much of a chain has been read, and of how much: what an answer about its past may rest on (decision 0015).
import { describeCoverage, holes, type Range } from '#core/ranges.ts'
import type { Confidence, Desk } from '#serve/answer.ts'
import { coverageOf } from '#store/coverage.ts'
import type { State, StateWriter } from '#store/state.ts'

/** The coverage stream of a chain's blocks. */
export const blocksOf = (chain: string): string => `explorer/blocks/${chain}`

export interface Standing {
  /** From the chain's first block until its newest final one. Empty while nobody has asked the chain. */
  readonly span: Range
  readonly covered: readonly Range[]
}

/** Says how far the chain goes; it never goes back. In the transaction of the rows that were read. */
export async function putHead(tx: StateWriter, chain: string, finalUntil: number): Promise<void> {
  await tx.run(
    `insert into chain_heads (chain, final_until) values (?, ?)
     on conflict (chain) do update set final_until = excluded.final_until
     where excluded.final_until > chain_heads.final_until`,
    chain,
    finalUntil,
  )
}

const known = new WeakMap<State, { version: number; byChain: Map<string, Promise<Standing>> }>()

/** Kept until anything at all is committed: reading it twice more per call would cost as much as the answer. */
export function standingOf(desk: Pick<Desk, 'state' | 'settings'>, chain: string): Promise<Standing> {
  const version = desk.state.version()
  let kept = known.get(desk.state)
  if (kept?.version !== version) {
    kept = { version, byChain: new Map() }
    known.set(desk.state, kept)
  }
  const { byChain } = kept
  const found = byChain.get(chain)
  if (found) return found
  const reading = read(desk, chain)
  byChain.set(chain, reading)
  reading.catch(() => byChain.delete(chain))
  return reading
}

async function read({ state, settings }: Pick<Desk, 'state' | 'settings'>, chain: string): Promise<Standing> {
  const from = settings.explorer.chains.find(({ id }) => id === chain)?.firstBlock ?? 0
  const head = await state.get<{ final_until: number }>('select final_until from chain_heads where chain = ?', chain)
  const covered = await coverageOf(state, blocksOf(chain))
  return { span: { from, until: Math.max(from, head?.final_until ?? from) }, covered }
}

/** The first stretch of [first block, until) that has not been read; undefined when all of it has. */
export const firstHole = ({ covered, span }: Standing, until: number): Range | undefined =>
  holes(covered, { from: span.from, until })[0]

/** Where the unbroken run of blocks that have been read, from the first one, ends. */
export const readUntil = (standing: Standing): number =>
  firstHole(standing, standing.span.until)?.from ?? standing.span.until

/** As of the last block of that run. */
export function confidenceOf(standing: Standing): Confidence {
  const { covered, span } = standing
  const until = readUntil(standing)
  return {
    ...(until > span.from && { asOf: until - 1 }),
    finality: 'finalized',
    coverage: span.until > span.from ? describeCoverage(covered, span) : 'none',
  }
}
