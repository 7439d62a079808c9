// The provisional epochs that a response includes (behaviour/validators.md#provisional-figures).
import type { Network } from '#api/contract/wire/validators.ts'
import { merge, type Range } from '#core/ranges.ts'
import type { ValidatorsContext } from '../context.ts'
import { groupOf, levels } from '../duties/layout.ts'
import { type MissedDuty, missedDutiesIn } from '../duties/missed.ts'
import type { ProvisionalRow } from '../duties/record-sums.ts'
import type { ProvisionalEpoch } from '../ingest/provisional/head-processor.ts'
import type { ValidatorEntry } from '../registry/registry.ts'
import { toValidatorEntry } from '../registry/sync-registry.ts'
import { getNetworkCoverage } from './coverage.ts'

/** Those of one validator that are requested and not stored. Stored epochs are final and always take precedence. */
export async function provisionalEpochsOf(
  context: Pick<ValidatorsContext, 'duties' | 'validators'>,
  network: Network,
  validator: number,
  requested: Range,
): Promise<readonly ProvisionalEpoch[]> {
  const epochs = context.validators.provisional.get(network)?.epochs
  if (!epochs) return []
  const { covered } = await getNetworkCoverage(context, network)
  const from = Math.max(requested.from, covered.at(-1)?.until ?? Number.POSITIVE_INFINITY)
  return epochs.filter(
    ({ epoch, watched }) =>
      epoch >= from && epoch < requested.until && (watched === undefined || watched.includes(validator)),
  )
}

/** Stored epochs and provisional ones. */
export const withProvisional = (stored: readonly Range[], epochs: readonly ProvisionalEpoch[]): readonly Range[] =>
  epochs.length === 0 ? stored : merge([...stored, ...epochs.map(({ epoch }) => ({ from: epoch, until: epoch + 1 }))])

export const provisionalRows = (epochs: readonly ProvisionalEpoch[], validator: number): ProvisionalRow[] => {
  const group = groupOf(levels.days, validator)
  return epochs.flatMap(({ epoch, figures }) => {
    const data = figures.get(group)
    return data ? [{ epoch, group, data }] : []
  })
}

/** Sorted by epoch, kind and slot. */
export const provisionalMissedDuties = (epochs: readonly ProvisionalEpoch[], validator: number): MissedDuty[] =>
  epochs.flatMap(({ missed }) => {
    const [first, last] = [missed.validator.indexOf(validator), missed.validator.lastIndexOf(validator)]
    const duties = first < 0 ? [] : missedDutiesIn(missed, { from: first, until: last + 1 })
    return duties.sort((a, b) => a.kind - b.kind || a.slot - b.slot)
  })

/** The registry entry of a validator at the end of these epochs; undefined: the stored one is up to date. */
export function provisionalEntry(epochs: readonly ProvisionalEpoch[], validator: number): ValidatorEntry | undefined {
  for (const { registry } of epochs.toReversed()) {
    const row = registry.index.indexOf(validator)
    if (row >= 0) return toValidatorEntry(registry, row)
  }
  return undefined
}
