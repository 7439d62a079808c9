// A follower of a network whose processor runs on this thread, and not on one of its own as in a server.
import type { Network } from '#api/contract/wire/validators.ts'
import type { ValidatorsContext } from '#validators/context.ts'
import { Follower } from '#validators/ingest/follow.ts'
import type { LocalHeadProcessor } from '#validators/ingest/provisional/head-processor.ts'
import { openLocalProcessors } from '#validators/ingest/thread/open-processors.ts'
import { readProcessorStart } from '#validators/ingest/thread/read-processor-start.ts'

export const openFollower = async (context: ValidatorsContext, network: Network, dataDir?: string): Promise<Follower> =>
  new Follower(
    context,
    network,
    openLocalProcessors(await readProcessorStart(context, network, dataDir), context.clock).epochs,
  )

/** The processor of epochs that are not final. */
export const openHead = async (context: ValidatorsContext, network: Network): Promise<LocalHeadProcessor> =>
  openLocalProcessors(await readProcessorStart(context, network)).head
