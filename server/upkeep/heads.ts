// Notes each step of the loop that follows a chain, so that a chain that is behind but moving is told from one that is stuck.
import type { Tell } from '#groups/explorer/index-chain.ts'
import { noteStep } from '#ingest/steps.ts'
import type { Desk } from '#serve/answer.ts'

export const chainStream = (id: string): string => `chain ${id}`

const followed = new WeakMap<Desk['state'], Set<string>>()

/** For the loop that follows the chain. */
export function watchHead(desk: Pick<Desk, 'state' | 'clock'>, chain: string): Tell {
  followed.set(desk.state, (followed.get(desk.state) ?? new Set()).add(chain))
  noteStep(desk, chainStream(chain))
  return (progress) => {
    if (progress.is === 'range' || progress.is === 'near') noteStep(desk, chainStream(chain))
  }
}

/** Whether this process follows the chain. */
export const isFollowed = ({ state }: Pick<Desk, 'state'>, chain: string): boolean =>
  followed.get(state)?.has(chain) === true
