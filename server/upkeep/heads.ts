// Notes each step of the loop that follows a chain, so that a chain that is behind but moving is told from one that is stuck.
import type { Tell } from '#groups/explorer/index-chain.ts'
import { noteStep } from '#ingest/steps.ts'
import type { Context } from '#serve/context.ts'

export const chainStream = (id: string): string => `chain ${id}`

const followed = new WeakMap<Context['state'], Set<string>>()

/** For the loop that follows the chain. */
export function watchHead(context: Pick<Context, 'state' | 'clock'>, chain: string): Tell {
  followed.set(context.state, (followed.get(context.state) ?? new Set()).add(chain))
  noteStep(context, chainStream(chain))
  return (progress) => {
    if (progress.is === 'range' || progress.is === 'near') noteStep(context, chainStream(chain))
  }
}

/** Whether this process follows the chain. */
export const isFollowed = ({ state }: Pick<Context, 'state'>, chain: string): boolean =>
  followed.get(state)?.has(chain) === true
