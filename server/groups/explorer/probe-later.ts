// Goes on with the searches that one call could not finish, so that the same call a while later is answered (decision 0162).
//
// 1. One search of a chain at a time, a slice of each in turn: a long one does not keep the others waiting.
// 2. It ends when it is answered, when a node says that it never will be, or when a slice brings it no further. A node that fails is
//    left alone for a while.
import { Fault } from '#core/fault.ts'
import { Bell, poll } from '#ingest/poll.ts'
import { nextTurn } from '#io/clock.ts'
import type { Log } from '#io/log.ts'
import type { Random } from '#io/random.ts'
import type { ChainNode } from './node.ts'
import { probe } from './probe.ts'
import { isUnfinished } from './probe-faults.ts'
import { dropMarks, findMark, type Mark, unwant, type Wanted, want, wantedOf } from './probe-marks.ts'
import type { ProbeDesk } from './probe-wanted.ts'

/** What others are told after each slice. */
export interface LaterProgress {
  /** Searches that are still wanted. */
  readonly open: number
  /** How much further this one has come. */
  readonly blocks: number
  /** What is left for all of them together, at most. */
  readonly remaining: number
}

export interface LaterDesk extends ProbeDesk {
  readonly random: Random
  readonly log: Log
}

/** How long a new one waits at most before it is gone on with. */
const everyMs = 2000
const backoffMaxMs = 60_000
/** A slice is bounded by its calls and its time. */
const blocksMax = 1_000_000
/** Of searches that nobody waits for, so many per chain are remembered; looked after now and then, some at a time. */
const marksMax = 200_000
const marksPerDrop = 500
const dropsMax = 50
const dropEveryMs = 3_600_000

/** Resolves when the signal aborts. */
export function startLater(
  desk: LaterDesk,
  node: ChainNode,
  signal: AbortSignal,
  tell: (progress: LaterProgress) => void,
): Promise<void> {
  const chain = node.chain.id
  const bell = new Bell()
  let droppedMs = Number.NEGATIVE_INFINITY
  return poll(
    desk,
    {
      everyMs,
      timeoutMs: 2 * desk.settings.explorer.probe.timeoutMs,
      backoffMaxMs,
      bell,
      work: async (stop) => {
        const [next] = await wantedOf(desk.state, chain, 1)
        const { blocks, head } = next ? await goOn(desk, chain, next, stop) : nothing
        // The next slice follows at once, but not after a failure.
        if (next) bell.ring()
        if (desk.clock.monotonicMs() - droppedMs >= dropEveryMs) {
          droppedMs = desk.clock.monotonicMs()
          await dropSome(desk, chain)
        }
        const wanted = await wantedOf(desk.state, chain, desk.settings.explorer.probe.laterMax)
        const remaining = wanted.reduce((sum, one) => sum + Math.max(0, head - one.block), 0)
        tell({ open: wanted.length, blocks, remaining })
      },
      report: (outcome) => {
        if (outcome.is === 'done') return
        const reason = outcome.error instanceof Error ? outcome.error.message : String(outcome.error)
        desk.log.warn({ chain, failures: outcome.failures, reason }, 'a search could not be gone on with')
      },
    },
    signal,
  )
}

async function dropSome({ state }: LaterDesk, chain: string): Promise<void> {
  for (let drops = 0; drops < dropsMax; drops++) {
    if ((await state.write((tx) => dropMarks(tx, chain, marksMax, marksPerDrop))) < marksPerDrop) return
    await nextTurn()
  }
}

/** By how many blocks a slice came further, and how far the chain goes. */
interface Slice {
  readonly blocks: number
  readonly head: number
}
const nothing: Slice = { blocks: 0, head: 0 }

async function goOn(desk: LaterDesk, chain: string, next: Wanted, signal: AbortSignal): Promise<Slice> {
  const { state, clock, log } = desk
  const { address } = next
  const before = await findMark(state, chain, address)
  try {
    const { confidence } = await probe(desk, chain, address, { blocksMax, signal })
    await state.write((tx) => unwant(tx, chain, address))
    const head = Number(confidence.asOf ?? 0)
    return { blocks: Math.max(0, head - next.block), head }
  } catch (error) {
    const code = error instanceof Fault && error.code.startsWith('explorer.') ? error.code : undefined
    // In any case the others come first now.
    if (!code || code === 'explorer.node_unavailable') {
      await state.write((tx) => want(tx, chain, address, clock.now()))
      throw error
    }
    // What counts is what the next slice begins with: it may be fewer blocks on better grounds.
    const now = await findMark(state, chain, address)
    const { at = next.block, head = at } = (error as Fault).terms
    const blocks = Math.max(0, (now?.block ?? -1) - next.block)
    if (isUnfinished(error as Fault) && isOther(before, now)) return { blocks, head: Number(head) }
    log.warn({ chain, address, reason: (error as Fault).message }, 'a search was given up')
  }
  await state.write((tx) => unwant(tx, chain, address))
  return nothing
}

const isOther = (a: Mark | undefined, b: Mark | undefined): boolean =>
  a?.block !== b?.block || a?.proof !== b?.proof || a?.stateTells !== b?.stateTells
