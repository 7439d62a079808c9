// Which epochs still have their hours. Days stay for ever, hours go when `hoursKeptDays` says so, and an answer made of hours must
// not claim those that are gone (decision 0185).
//
// 1. Rows and this coverage change in one transaction: it grows with the duties, and shrinks when hours are let go of.
// 2. A store from before has no such coverage: the days from the first that has hours on, until the first write puts it down.
import type { Network } from '#api/wire/validators.ts'
import { type ChainDay, type ChainTime, chainDays } from '#core/chain-time.ts'
import { type Range, within } from '#core/ranges.ts'
import { cover, coverageOf, uncover } from '#store/coverage.ts'
import type { FactsReader, FactsWriter } from '#store/facts.ts'

const stream = (network: Network): string => `hours/${network}`

/** Of the epochs that have been read, those whose hours are kept. */
export async function hourEpochs(
  facts: FactsReader,
  network: Network,
  time: ChainTime,
  covered: readonly Range[],
): Promise<Range[]> {
  const known = await coverageOf(facts, stream(network))
  if (known.length > 0 || covered.length === 0) return known
  const [rows] = await facts.query<{ rows: number; first: number }>(
    'select count(*) as rows, min(day) as first from duty_hours where network = ?',
    [network],
  )
  if (!rows || rows.rows === 0) return []
  return within(covered, { from: firstOf(time, rows.first), until: Number.POSITIVE_INFINITY })
}

/** Before the first rows of a transaction: invariant 2. */
export async function adoptHours(
  tx: FactsWriter,
  network: Network,
  time: ChainTime,
  covered: readonly Range[],
): Promise<void> {
  if ((await coverageOf(tx, stream(network))).length > 0) return
  await coverHours(tx, network, await hourEpochs(tx, network, time, covered))
}

export async function coverHours(tx: FactsWriter, network: Network, epochs: readonly Range[]): Promise<void> {
  for (const { from, until } of epochs) await cover(tx, stream(network), from, until)
}

export async function dropHours(tx: FactsWriter, network: Network, time: ChainTime, untilDay: number): Promise<void> {
  await tx.remove('duty_hours', { key: network, until: untilDay })
  await uncover(tx, stream(network), firstOf(time, untilDay))
}

const firstOf = (time: ChainTime, day: number): number => chainDays(time).epochsOf(day as ChainDay).from
