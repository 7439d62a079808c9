// Records the progress of chain indexing, so that the coverage report can distinguish a chain that catches up from one
// that is stuck.
import type { OnIndexProgress } from '#explorer/funding/index/index-chain.ts'
import { recordStep, type StreamContext } from '#ingest/stream-progress.ts'

export const chainStream = (id: string): string => `chain ${id}`

/** The progress callback for the indexing loop of a chain. */
export function trackHead(context: StreamContext, chain: string): OnIndexProgress {
  context.streams.followed.add(chainStream(chain))
  recordStep(context, chainStream(chain))
  return (progress) => {
    if (progress.is === 'written' || progress.is === 'unfinalized') recordStep(context, chainStream(chain))
  }
}

/** Whether this process indexes the chain. */
export const isFollowed = ({ streams }: Pick<StreamContext, 'streams'>, chain: string): boolean =>
  streams.followed.has(chainStream(chain))
