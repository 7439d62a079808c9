// Which unfinished searches the server goes on with by itself, and how long they will take (decision 0162).
//
// 1. At most `laterMax` per chain are wanted at a time. They are in the store, so that a restart, or another process, finds them.
import type { Clock } from '#io/clock.ts'
import type { Desk } from '#serve/answer.ts'
import type { State } from '#store/state.ts'
import { want, wantedOf } from './probe-marks.ts'

/** What a search is made from: the commands have it too, without the facts. */
export type ProbeDesk = Pick<Desk, 'state' | 'settings' | 'clock'>

/** Blocks a millisecond, as the last search went that read block by block. */
const paces = new WeakMap<State, Map<string, number>>()

/** How quickly one search goes from block to block. */
export class Pace {
  readonly #clock: Clock
  #from: { readonly block: number; readonly ms: number } | undefined
  #blocks = 0
  #tookMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  at(block: number): void {
    const ms = this.#clock.monotonicMs()
    this.#from ??= { block, ms }
    this.#blocks = block - this.#from.block
    this.#tookMs = ms - this.#from.ms
  }

  note(state: State, chain: string): void {
    if (this.#blocks <= 0 || this.#tookMs <= 0) return
    const known = paces.get(state) ?? new Map<string, number>()
    paces.set(state, known)
    known.set(chain, this.#blocks / this.#tookMs)
  }
}

/** How long until all that is wanted of a chain is done, if each has this many blocks to go; one that nobody can tell is short. */
export function waitMsOf(state: State, chain: string, searches: number, blocks: number): number {
  const pace = paces.get(state)?.get(chain)
  const ms = pace ? (searches * blocks) / pace : 0
  return Math.ceil(Math.min(Math.max(ms, waitMinMs), waitMaxMs))
}
const waitMinMs = 2000
const waitMaxMs = 3_600_000

/** How many are wanted now, this one among them; undefined when there is no room for it. Whoever had a turn comes after the others. */
export async function enlist(
  desk: ProbeDesk,
  chain: string,
  address: string,
  hadTurn: boolean,
): Promise<number | undefined> {
  const { laterMax } = desk.settings.explorer.probe
  const wanted = await wantedOf(desk.state, chain, laterMax)
  const isIn = wanted.some((one) => one.address === address)
  if (!isIn && wanted.length >= laterMax) return undefined
  if (!isIn || hadTurn) await desk.state.write((tx) => want(tx, chain, address, desk.clock.now()))
  return wanted.length + (isIn ? 0 : 1)
}
