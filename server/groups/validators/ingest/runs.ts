// How the ingest of each network stands in this process, for the commands that ask beside it, and a bell for them to have it
// look at its node at once (decision 0078) and fill in epochs that were left out (decision 0156).
import { type Network, networks } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import { Bell } from '#ingest/poll.ts'
import type { Facts } from '#store/facts.ts'
import type { State } from '#store/state.ts'
import type { Progress } from './follow.ts'
import { countOf, missingEpochs, outOfReach } from './gaps.ts'

export interface Standing extends Progress {
  readonly network: Network
  /** Reading at this moment. */
  readonly isBusy: boolean
  /** Looks at the node that have ended, so that whoever asks can tell a new one from an old one. */
  readonly rounds: number
  /** Why the last look failed; null: it did not. */
  readonly trouble: string | null
  /** It failed because the node's answers contradict each other. */
  readonly isContradicted: boolean
  /** Since when looks have failed without anything read between them; null: the last one did not. */
  readonly failingSinceMs: number | null
  /** Of the epochs that were asked about, how many nobody has read. */
  readonly missing: number
}

/** Ranges that wait to be filled in. */
const wantedMax = 16

export class Run {
  readonly bell = new Bell()
  readonly #wanted: Range[] = []
  #standing: Standing

  constructor(network: Network) {
    this.#standing = {
      network,
      until: 0,
      finalizedEpoch: 0,
      written: 0,
      isBusy: false,
      rounds: 0,
      trouble: null,
      isContradicted: false,
      failingSinceMs: null,
      missing: 0,
    }
  }

  get standing(): Standing {
    return this.#standing
  }

  /** The next look fills these epochs in first. */
  want(epochs: Range): void {
    if (this.#wanted.length >= wantedMax) throw new Error(`${wantedMax} ranges wait to be filled in already; ask later`)
    this.#wanted.push(epochs)
  }

  takeWanted(): Range | undefined {
    return this.#wanted.shift()
  }

  begin(): void {
    this.#standing = { ...this.#standing, isBusy: true }
  }

  step({ until, finalizedEpoch, written }: Progress): void {
    const fine = { failingSinceMs: null, isContradicted: false }
    this.#standing = { ...this.#standing, until, finalizedEpoch, written, ...fine }
  }

  end(trouble: string | null, nowMs: number, isContradicted = false): void {
    const { rounds, failingSinceMs: before } = this.#standing
    const failingSinceMs = trouble === null ? null : (before ?? nowMs)
    const ended = { isBusy: false, rounds: rounds + 1, trouble, failingSinceMs, isContradicted }
    this.#standing = { ...this.#standing, ...ended }
  }
}

const runs = new WeakMap<State, Map<Network, Run>>()

/** A network is followed from now on. */
export function noteRun({ state }: { readonly state: State }, network: Network): Run {
  const own = runs.get(state) ?? new Map<Network, Run>()
  const run = new Run(network)
  runs.set(state, own.set(network, run))
  return run
}

/** It is followed no longer, unless another run has begun meanwhile. */
export function forgetRun({ state }: { readonly state: State }, network: Network, run: Run): void {
  const own = runs.get(state)
  if (own?.get(network) === run) own.delete(network)
}

/** Undefined: this process does not follow the network. */
export const runOf = ({ state }: { readonly state: State }, network: Network): Run | undefined =>
  runs.get(state)?.get(network)

/** For the control socket: `{network, look, epochs}`; with `look` the node is asked at once, and for those epochs first. */
export async function ingestStanding(
  desk: { readonly state: State; readonly facts: Facts },
  input: unknown,
): Promise<Standing> {
  const { network, look, epochs } = (input ?? {}) as { network?: unknown; look?: unknown; epochs?: unknown }
  const known = networks.find((one) => one === network)
  const run = known && runOf(desk, known)
  if (!run) {
    const setting = `validators.networks.${known ?? 'NAME'}.beacon.urls`
    const todo = `set ${setting} and restart it, or ask the server that ingests where there are several`
    throw new Error(`the running server does not follow ${known ?? 'such a network'}: ${todo}`)
  }
  const range = epochs === undefined ? undefined : rangeOf(epochs)
  const missing = range ? countOf(await missingEpochs(desk.facts, known, range)) : 0
  // As it was before the bell: whoever waits for the next look must be able to tell it from this one.
  const { standing } = run
  if (look === true) {
    const why = range && (await outOfReach(desk.facts, known, range))
    if (why !== undefined) throw new Error(why)
    if (range) run.want(range)
    run.bell.ring()
  }
  return { ...standing, missing }
}

function rangeOf(given: unknown): Range {
  const { from, until } = (given ?? {}) as { from?: unknown; until?: unknown }
  const isOne = [from, until].every((one) => Number.isSafeInteger(one) && (one as number) >= 0)
  if (!isOne) throw new Error('epochs are {from, until}, two whole numbers')
  return { from: from as number, until: until as number }
}
