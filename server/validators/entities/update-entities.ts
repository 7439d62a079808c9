// Keeps the entities of a network up to date while it is read. The follower calls this before it summarizes days.
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import type { State } from '#storage/state.ts'
import { putEntityDays, readEntityDays } from './memberships.ts'

/** `until`: all epochs before this one have been read, or are gaps. */
export async function updateEntities(
  ingest: State,
  { network, time, until }: { readonly network: Network; readonly time: ChainTime; readonly until: number },
): Promise<void> {
  const { epochsPerDay } = time
  const currentDay = chainDays(time).dayOf(until as Epoch)
  const before = await readEntityDays(ingest, network)
  if (before && before.epochsPerDay === epochsPerDay && before.currentDay >= currentDay) return
  await ingest.write((tx) => putEntityDays(tx, network, { epochsPerDay, currentDay }), { lock: 'registry' })
}
