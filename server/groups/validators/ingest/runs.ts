// How the ingest of each network stands in this process, for the commands that ask beside it, and a bell for them to have it
// look at its node at once (decision 0078).
import { type Network, networks } from '#api/wire/validators.ts'
import { Bell } from '#ingest/poll.ts'
import type { State } from '#store/state.ts'
import type { Progress } from './follow.ts'

export interface Standing extends Progress {
  readonly network: Network
  /** Reading at this moment. */
  readonly isBusy: boolean
  /** Looks at the node that have ended, so that whoever asks can tell a new one from an old one. */
  readonly rounds: number
  /** Why the last look failed; null: it did not. */
  readonly trouble: string | null
}

export class Run {
  readonly bell = new Bell()
  #standing: Standing

  constructor(network: Network) {
    this.#standing = { network, until: 0, finalizedEpoch: 0, written: 0, isBusy: false, rounds: 0, trouble: null }
  }

  get standing(): Standing {
    return this.#standing
  }

  begin(): void {
    this.#standing = { ...this.#standing, isBusy: true }
  }

  step({ until, finalizedEpoch, written }: Progress): void {
    this.#standing = { ...this.#standing, until, finalizedEpoch, written }
  }

  end(trouble: string | null): void {
    this.#standing = { ...this.#standing, isBusy: false, rounds: this.#standing.rounds + 1, trouble }
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

/** Undefined: this process does not follow the network. */
export const runOf = ({ state }: { readonly state: State }, network: Network): Run | undefined =>
  runs.get(state)?.get(network)

/** For the control socket: `{network, look}`; with `look` the node is asked at once. */
export function ingestStanding(desk: { readonly state: State }, input: unknown): Standing {
  const { network, look } = (input ?? {}) as { network?: unknown; look?: unknown }
  const known = networks.find((one) => one === network)
  const run = known && runOf(desk, known)
  if (!run) {
    const setting = `validators.networks.${known ?? 'NAME'}.beacon.urls`
    const todo = `set ${setting} and restart it, or ask the server that ingests where there are several`
    throw new Error(`the running server does not follow ${known ?? 'such a network'}: ${todo}`)
  }
  if (look === true) run.bell.ring()
  return run.standing
}
