// Finds out which epochs must be read again to replace damaged rows. A row of hours, days, presence or missed duties
// belongs to one day part, which is read again completely. A row of a span can only be replaced when everything that
// is stored of the span is read again.
import type { Network } from '#api/contract/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { type Range, within } from '#core/ranges.ts'
import type { StateReader } from '#storage/state.ts'
import { measures } from '../method/measures.ts'
import { coveredEpochs } from './coverage.ts'
import { dayLevels, dayPartAt, epochsOfUnit, type Level, levels, networkId, unitIds } from './layout.ts'
import { DamagedRow, RowReader } from './packed-row.ts'
import { rowsBetween } from './rows.ts'
import { allUnits } from './units.ts'

export const repairCommand = (network: Network, { from, until }: Range): string =>
  `tetrad repair --network ${network} --from-epoch ${from} --until-epoch ${until}`

/** From the first to the last stored epoch of a unit. */
export function storedEpochsOf(time: ChainTime, level: Level, unit: number, covered: readonly Range[]): Range {
  const epochs = epochsOfUnit(time, level, unit)
  const stored = within(covered, epochs)
  return { from: stored[0]?.from ?? epochs.from, until: stored.at(-1)?.until ?? epochs.until }
}

/** The stored epochs of each span that has damaged rows and shares day parts with the range. */
export async function damagedSpans(
  reader: StateReader,
  { network, time, epochs }: { readonly network: Network; readonly time: ChainTime; readonly epochs: Range },
  signal?: AbortSignal,
): Promise<Range[]> {
  const [first, last] = [dayPartAt(time, epochs.from as never), dayPartAt(time, (epochs.until - 1) as never)]
  const units = await allUnits(reader, networkId(network))
  const covered = await coveredEpochs(reader, network)
  const damaged: Range[] = []
  for (const level of [levels.shortSpans, levels.longSpans]) {
    for (const unit of units[dayLevels.indexOf(level)] ?? []) {
      if ((unit + 1) * level.partsPerRow <= first || unit * level.partsPerRow > last) continue
      const ids = unitIds(level, networkId(network), { from: unit, until: unit + 1 })
      if (await hasDamage(reader, level, ids, signal)) damaged.push(storedEpochsOf(time, level, unit, covered))
    }
  }
  return damaged
}

async function hasDamage(reader: StateReader, { table }: Level, ids: Range, signal?: AbortSignal): Promise<boolean> {
  const packed = new RowReader(measures.length)
  for await (const rows of rowsBetween(reader, table, ids)) {
    signal?.throwIfAborted()
    if (rows.some(({ data }) => isDamaged(() => packed.open(data)))) return true
  }
  return false
}

/** 'damaged' if the work fails because of a damaged row. */
export const ignoreDamage = <T>(work: Promise<T>): Promise<T | 'damaged'> =>
  work.catch((error: unknown) => {
    if (error instanceof DamagedRow) return 'damaged'
    throw error
  })

export function isDamaged(open: () => unknown): boolean {
  try {
    open()
    return false
  } catch (error) {
    if (error instanceof DamagedRow) return true
    throw error
  }
}
