// Notes each step of the loop that follows a chain, so that a chain that is behind but moving is told from one that is stuck.
import type { OnIndexProgress } from '#explorer/funding/index/index-chain.ts'
import { noteStep, type StreamContext } from '#ingest/stream-progress.ts'

export const chainStream = (id: string): string => `chain ${id}`

/** For the loop that follows the chain. */
export function trackHead(context: StreamContext, chain: string): OnIndexProgress {
  context.streams.followed.add(chainStream(chain))
  noteStep(context, chainStream(chain))
  return (progress) => {
    if (progress.is === 'range' || progress.is === 'near') noteStep(context, chainStream(chain))
  }
}

/** Whether this process follows the chain. */
export const isFollowed = ({ streams }: Pick<StreamContext, 'streams'>, chain: string): boolean =>
  streams.followed.has(chainStream(chain))
