// A follower of a network whose processor runs on this thread, and not on one of its own as in a server.
import type { Network } from '#api/contract/wire/validators.ts'
import type { ValidatorsContext } from '#validators/context.ts'
import { Follower } from '#validators/ingest/follow.ts'
import { openEpochProcessor } from '#validators/ingest/thread/open-processors.ts'
import { readProcessorStart } from '#validators/ingest/thread/read-processor-start.ts'

export const openFollower = async (context: ValidatorsContext, network: Network, dataDir?: string): Promise<Follower> =>
  new Follower(context, network, openEpochProcessor(await readProcessorStart(context, network, dataDir), context.clock))
