// Keeps the entities of a network up to date while it is read: the rules of the configuration, the present day, and the
// validators that are pending. The follower calls this before it summarizes days.
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import type { ValidatorsContext } from '../context.ts'
import { applyRules } from './apply-rules.ts'
import { createConfiguredRules } from './configured-rules.ts'
import { putEntityDays, readEntityDays } from './memberships.ts'
import { markBoundary, nextBoundary } from './rules.ts'

export interface UpdateInput {
  readonly network: Network
  readonly time: ChainTime
  /** All epochs before this one have been read, or are gaps. */
  readonly until: number
}

export async function updateEntities(
  context: Pick<ValidatorsContext, 'ingest' | 'settings' | 'log' | 'validators'>,
  input: UpdateInput,
  signal?: AbortSignal,
): Promise<void> {
  const { network } = input
  await advanceDay(context, input, signal)
  await context.validators.configuredRules.getOrInsertComputed(network, () => createConfiguredRules(context, network))()
  await applyRules(context.ingest, network, signal)
}

/** Rules with days begin and end on exactly their day, also if several days are over at once. */
async function advanceDay(
  { ingest }: Pick<ValidatorsContext, 'ingest'>,
  { network, time, until }: UpdateInput,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { epochsPerDay } = time
  const today = chainDays(time).dayOf(until as Epoch)
  const before = await readEntityDays(ingest, network)
  if (before && before.epochsPerDay === epochsPerDay && before.currentDay >= today) return
  for (let day = before?.currentDay ?? today; !signal?.aborted; ) {
    const boundary = await nextBoundary(ingest, network, day, today)
    day = boundary ?? today
    const currentDay = day
    await ingest.write(
      async (tx) => {
        await putEntityDays(tx, network, { epochsPerDay, currentDay })
        if (boundary !== undefined) await markBoundary(tx, network, boundary)
      },
      { lock: 'registry' },
    )
    await applyRules(ingest, network, signal)
    if (day === today) return
  }
}
