// What an answer about a network rests on: the epochs that have been read, and in which of them the validators it speaks of were
// kept. It is the same until somebody writes, so it is kept in memory until then (decision 0155).
import type { Network } from '#api/wire/validators.ts'
import type { Range } from '#core/ranges.ts'
import type { Facts } from '#store/facts.ts'
import { coveredEpochs } from './duties.ts'
import { isWatched, keptEpochs } from './ingest/watched.ts'

export interface Standing {
  /** Epochs that have been read completely. */
  readonly covered: readonly Range[]
  /** Not everyone was kept in all of them. */
  readonly isWatched: boolean
}

const known = new WeakMap<Facts, { version: number; byNetwork: Map<Network, Promise<Standing>> }>()

export function standingOf(facts: Facts, network: Network): Promise<Standing> {
  const version = facts.version()
  if (version === undefined) return read(facts, network)
  let kept = known.get(facts)
  if (kept?.version !== version) {
    kept = { version, byNetwork: new Map() }
    known.set(facts, kept)
  }
  const { byNetwork } = kept
  const found = byNetwork.get(network)
  if (found) return found
  const reading = read(facts, network)
  byNetwork.set(network, reading)
  reading.catch(() => byNetwork.delete(network))
  return reading
}

async function read(facts: Facts, network: Network): Promise<Standing> {
  const [covered, watched] = await Promise.all([coveredEpochs(facts, network), isWatched(facts, network)])
  return { covered, isWatched: watched }
}

/** Of what has been read: the epochs in which all of these validators were kept. */
export const keptOf = async (
  facts: Facts,
  network: Network,
  standing: Standing,
  validators: readonly number[],
): Promise<readonly Range[]> =>
  standing.isWatched ? keptEpochs(facts, network, standing.covered, validators) : standing.covered
