// When each followed chain was last read up to its head. Blocks carry their own time, but one without a first funding is
// not stored; so the loop that reads them tells, and only the process that reads knows.
import type { Tell } from '#groups/explorer/index-chain.ts'
import { noteStep } from '#ingest/steps.ts'
import type { Desk } from '#serve/answer.ts'

export const chainStream = (id: string): string => `chain ${id}`

/** Null: followed, but not read up to its head since the start. */
const heads = new WeakMap<Desk['state'], Map<string, number | null>>()

/** For the loop that follows the chain. */
export function watchHead(desk: Pick<Desk, 'state' | 'clock'>, chain: string): Tell {
  const { state, clock } = desk
  const known = heads.get(state) ?? new Map<string, number | null>()
  heads.set(state, known)
  known.set(chain, null)
  noteStep(desk, chainStream(chain))
  return (progress) => {
    if (progress.is !== 'plan') noteStep(desk, chainStream(chain))
    if (progress.is === 'near') known.set(chain, clock.now())
  }
}

/** Undefined: nobody in this process follows the chain. */
export const headSeenMs = ({ state }: Pick<Desk, 'state'>, chain: string): number | null | undefined =>
  heads.get(state)?.get(chain)
