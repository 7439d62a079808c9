// What following a network, filling its gaps and repairing its epochs have in common: where epochs come from, and how
// they are written.

import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { type NetworkSettings, networkSettings } from '#runtime/settings/validators.ts'
import { BeaconError, refuseOtherChain } from '#sources/beacon/client.ts'
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import type { ValidatorsContext } from '../../context.ts'
import type { CommitSegment, EpochCommit } from '../../duties/commit.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { plainTime, segmentAt } from '../../duties/layout.ts'
import { describeWindowsMismatch, refuseOtherWindows } from '../../duties/networks.ts'
import type { WatchChange } from '../../duties/watch-ranges.ts'
import type { EpochProcessor } from '../epochs/epoch-processor.ts'
import { type ProcessedSegment, segmentBuffers } from '../epochs/processed-segment.ts'
import { adoptChain, expectedChain } from '../read/chain-identity.ts'
import type { BatchMember } from './batches.ts'

export interface IngestSource {
  readonly context: Pick<ValidatorsContext, 'ingest' | 'duties' | 'settings' | 'log' | 'clock' | 'validators'>
  readonly network: Network
  readonly processor: EpochProcessor
  readonly time: NetworkSettings
  /** Uses the present version of the watch file from now on. */
  readonly updateWatchList: () => Promise<void>
}

/**
 * Call this before reading: uses the present watch list. Throws unless the stored data, the settings and the node agree on
 * chain times and windows.
 */
export async function prepareIngest(
  { context, network, processor, time, updateWatchList }: IngestSource,
  signal: AbortSignal,
): Promise<ConsensusRules> {
  await updateWatchList()
  const { duties } = context
  refuseOtherWindows(await describeWindowsMismatch(duties, network, time))
  const { identity, rules } = await processor.chain(signal)
  refuseOtherChain(network, identity, expectedChain(network, networkSettings(context.settings, network)))
  const isEmpty = (await coveredEpochs(duties, network)).length === 0
  if (isEmpty) await adoptChain(duties, network, time, identity)
  const mismatch = (['genesisUnix', 'slotSeconds', 'slotsPerEpoch'] as const).find((key) => identity[key] !== time[key])
  if (!mismatch) return rules
  throw new BeaconError(
    `${network}: ${mismatch} of the node is ${identity[mismatch]}, but the server uses ${time[mismatch]}. Restart the server to use the value of the node`,
  )
}

/** The first epoch after all stored ones; 0: none is stored. */
export const coverageEnd = async ({ context, network }: Pick<IngestSource, 'context' | 'network'>): Promise<number> =>
  (await coveredEpochs(context.duties, network)).at(-1)?.until ?? 0

/** The first configured epoch. `firstEpoch`: the finalized epoch. If none is configured, its chain day is the first one to read. */
export function configuredStart(
  { context, network, time }: Pick<IngestSource, 'context' | 'network' | 'time'>,
  firstEpoch: number,
): number {
  const { fromEpoch } = networkSettings(context.settings, network).beacon
  if (fromEpoch >= 0) return fromEpoch
  // Nodes have the state of the finalized checkpoint, and often no older one. The epoch before the first one is needed.
  if (networkSettings(context.settings, network).states === 'computed') return firstEpoch + 1
  const days = chainDays(time)
  return days.epochsOf(days.dayOf(firstEpoch as Epoch)).from
}

/** The end of the segment that contains `from`, at most `until`. */
export const segmentEnd = (time: ChainTime, from: number, until: number): number =>
  Math.min(until, segmentAt(time, from as Epoch).epochs.until)

export function commitSegments(
  { context, network, time }: IngestSource,
  batch: readonly BatchMember[],
  head?: EpochCommit['head'],
): Promise<WatchChange[]> {
  const segments = batch.map(({ epochs, segment }) => toCommitSegment(epochs, segment))
  const transfer = [...new Set(batch.flatMap(({ segment }) => segmentBuffers(segment)))]
  const commit: EpochCommit = { network, time: plainTime(time), segments, head }
  return context.duties.update('commitEpochs', commit, { transfer })
}

export const toCommitSegment = (
  { from, until }: Range,
  { validator, sums, missed, unexplained, watched, network }: ProcessedSegment,
): CommitSegment => ({
  epochs: { from: from as Epoch, until: until as Epoch },
  validator,
  sums,
  missed,
  unexplained,
  watched,
  network,
})

/** Merges days that are complete before `until` into spans. */
export const mergeDays = (
  { context, network, time }: IngestSource,
  until: number,
  signal: AbortSignal,
): Promise<number> => context.duties.update('mergeSpans', { network, time: plainTime(time), until }, { signal })

/** Merges all complete days. */
export async function mergeAllDays(source: IngestSource, signal: AbortSignal): Promise<void> {
  const end = await coverageEnd(source)
  if (end > 0) await mergeDays(source, end, signal)
}
