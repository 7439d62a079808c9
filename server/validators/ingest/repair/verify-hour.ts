// Reads an hour of duties from the beacon node again and compares it with the stored one, for the doctor
// (behaviour/operations.md#doctor). It uses the same processor as ingest, on a thread of its own, and writes nothing.

import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainHour, type ChainTime, epochsOfHour, wholeHours } from '#core/chain-time.ts'
import type { Range } from '#core/ranges.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { Duties } from '#storage/duties.ts'
import type { ValidatorsContext } from '../../context.ts'
import { type HourSums, sumHours } from '../../duties/hour-sums.ts'
import { hourEpochs } from '../../duties/hours.ts'
import { hourPartNumber, levels, networkId, partsIn } from '../../duties/layout.ts'
import { describeWindowsMismatch, refuseOtherWindows, storedChain } from '../../duties/networks.ts'
import { validatorsEnd } from '../../duties/units.ts'
import { keptThrough, type Watched } from '../../duties/watch-ranges.ts'
import { executionAmounts, type Measure, measures } from '../../method/measures.ts'
import type { ProcessedSegment } from '../epochs/processed-segment.ts'
import { openEpochProcessors } from '../thread/open-processors.ts'
import { readProcessorStart, statesDir } from '../thread/read-processor-start.ts'

/** If an execution node was added or removed since, these are not compared. */
const executionMeasures: readonly Measure[] = ['execution_unknown', ...executionAmounts]

/** Hours that are stored completely. */
export async function storedHours(
  { duties, settings }: Pick<ValidatorsContext, 'duties' | 'settings'>,
  network: Network,
): Promise<Range[]> {
  const time = networkSettings(settings, network)
  return (await hourEpochs(duties, network))
    .map((epochs) => wholeHours(time, epochs))
    .filter(({ from, until }) => from < until)
}

/** Returns the number of compared rows and a text for each difference. Throws if the node cannot be read. */
export async function verifyHour(
  context: Pick<ValidatorsContext, 'duties' | 'settings' | 'validators'>,
  network: Network,
  hour: number,
  signal: AbortSignal,
  dataDir?: string,
): Promise<{ readonly checked: number; readonly differing: readonly string[] }> {
  // A command without a server has only configured times, and those of a test network differ from its chain.
  const time = { ...networkSettings(context.settings, network), ...(await storedChain(context.duties, network)) }
  refuseOtherWindows(await describeWindowsMismatch(context.duties, network, time))
  const { from, until } = epochsOfHour(time, hour as ChainHour)
  const start = await readProcessorStart(context, network)
  await using processors = openEpochProcessors([
    { ...start, readFromDir: dataDir === undefined ? undefined : statesDir(dataDir, network) },
  ])
  const segment = await processors.of(network).processSegment({ from, until, isPast: true }, signal)
  const watchedThen = await keptThrough(context.duties, network, { from, until })
  const watchedNow: Watched = segment.watched ? new Set(segment.watched.validators) : 'everyone'
  // If the watch list has changed since, only validators on both lists can be compared.
  const isCompared = (index: number) =>
    [watchedThen, watchedNow].every((watched) => watched === 'everyone' || watched.has(index))
  return compareHour(
    segment,
    await readHour(context.duties, network, time, hour),
    `${network} hour ${hour}`,
    isCompared,
  )
}

/** All rows that are stored, also those of validators that should have none. */
async function readHour(duties: Duties, network: Network, time: ChainTime, hour: number) {
  const units = partsIn(time, epochsOfHour(time, hour as ChainHour)).map(({ number }) => hourPartNumber(hour, number))
  const end = await validatorsEnd(duties, levels.hours, networkId(network), units)
  const validators = Array.from({ length: end }, (_, index) => index)
  return sumHours(duties, { network, time, validators, hours: { from: hour, until: hour + 1 } }, measures)
}

async function compareHour(
  { validator, sums }: ProcessedSegment,
  storedRows: AsyncIterable<HourSums<Measure>>,
  label: string,
  isCompared: (index: number) => boolean,
): Promise<{ readonly checked: number; readonly differing: readonly string[] }> {
  const rows = new Map(
    Array.from(validator, (index, row) => [index, row] as const).filter(([index]) => isCompared(index)),
  )
  const checked = rows.size
  const differing: string[] = []
  for await (const stored of storedRows) {
    for (const [at, index] of stored.validator.entries()) {
      if (!isCompared(index)) continue
      const row = rows.get(index)
      rows.delete(index)
      if (row === undefined) {
        differing.push(`${label} validator ${index}: the node has no duty for it`)
        continue
      }
      const hasSameExecution = stored.sums.execution_unknown[at] === sums.execution_unknown[row]
      const compared = hasSameExecution ? measures : measures.filter((name) => !executionMeasures.includes(name))
      const mismatch = compared.find((name) => stored.sums[name][at] !== sums[name][row])
      if (mismatch)
        differing.push(
          `${label} validator ${index}: ${mismatch} is ${stored.sums[mismatch][at]} in the store and ${sums[mismatch][row]} according to the node`,
        )
    }
  }
  for (const index of rows.keys()) differing.push(`${label} validator ${index}: no row is stored`)
  return { checked, differing }
}
