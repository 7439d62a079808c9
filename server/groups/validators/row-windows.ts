// Which hours and days a network's rows were added up into. Settings can be changed, rows cannot: by another `epochsPerDay`, day 7 is
// other epochs than those whose sums are stored as day 7. So the first rows put down what they were made with, and nobody reads or
// adds to them with anything else (decision 0187). Genesis and slots, and with them UTC days, are kept with the chain (0106).
//
// 1. Written in the transaction of the first rows, and never changed.
// 2. A store from before has none: the first start puts down what is configured, unless the rows contradict it.
import type { Network } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch, hourOf, overlap } from '#core/chain-time.ts'
import { Fault } from '#core/fault.ts'
import type { Range } from '#core/ranges.ts'
import type { Facts, FactsReader, FactsWriter } from '#store/facts.ts'

type RowWindows = Pick<ChainTime, 'epochsPerHour' | 'epochsPerDay'>

async function storedWindows(facts: FactsReader, network: Network): Promise<RowWindows | undefined> {
  const [row] = await facts.query<{ epochs_per_hour: number; epochs_per_day: number }>(
    'select epochs_per_hour, epochs_per_day from duty_windows where network = ?',
    [network],
  )
  return row && { epochsPerHour: row.epochs_per_hour, epochsPerDay: row.epochs_per_day }
}

/** Why these rows must not be read or added to with this chain time; undefined: they may. */
export async function windowsTrouble(
  facts: FactsReader,
  network: Network,
  time: ChainTime,
  covered: () => Promise<readonly Range[]>,
): Promise<string | undefined> {
  return troubleOf(facts, network, time, covered, await storedWindows(facts, network))
}

async function troubleOf(
  facts: FactsReader,
  network: Network,
  time: ChainTime,
  covered: () => Promise<readonly Range[]>,
  stored: RowWindows | undefined,
): Promise<string | undefined> {
  const setting = `validators.networks.${network}`
  const todo = 'or start with a new data folder'
  if (stored) {
    const odd = (['epochsPerHour', 'epochsPerDay'] as const).find((name) => stored[name] !== time[name])
    return (
      odd &&
      `${setting}.${odd} is ${time[odd]}, but what is stored was added up by ${stored[odd]}: set it back, ${todo}`
    )
  }
  if (await areMadeWith(facts, network, time, await covered())) return undefined
  const now = `epochsPerHour ${time.epochsPerHour} and epochsPerDay ${time.epochsPerDay}`
  return `what is stored of ${network} was not added up by ${now}: set ${setting} back to what it was, ${todo}`
}

/** Before rows are written: invariant 1. */
export async function keepWindows(
  tx: FactsWriter,
  network: Network,
  time: ChainTime,
  covered: readonly Range[],
): Promise<void> {
  const stored = await storedWindows(tx, network)
  refuseOtherWindows(await troubleOf(tx, network, time, async () => covered, stored))
  if (stored) return
  const { epochsPerHour, epochsPerDay } = time
  await tx.append('duty_windows', {
    network: [network],
    epochs_per_hour: [epochsPerHour],
    epochs_per_day: [epochsPerDay],
  })
}

/** Invariant 2. Nothing is written where it is known already. */
export async function adoptWindows(
  facts: Facts,
  network: Network,
  time: ChainTime,
  covered: readonly Range[],
): Promise<void> {
  if (await storedWindows(facts, network)) return
  await facts.write((tx) => keepWindows(tx, network, time, covered))
}

export function refuseOtherWindows(trouble: string | undefined): void {
  if (trouble !== undefined) throw new Fault('validators.windows_changed', { detail: trouble })
}

interface Extremes {
  readonly rows: number
  readonly first: number
  readonly last: number
  readonly most: number
}

/** False: they cannot have been. Validators vote once an epoch, and rows lie where epochs have been read. */
async function areMadeWith(
  facts: FactsReader,
  network: Network,
  time: ChainTime,
  covered: readonly Range[],
): Promise<boolean> {
  const [from, until] = [covered[0]?.from, covered.at(-1)?.until]
  if (from === undefined || until === undefined) return true
  const read = { from: from as Epoch, until: until as Epoch }
  const line = chainDays(time)
  const extremes = async (table: string, column: string, fromDay: number): Promise<Extremes | undefined> => {
    const [row] = await facts.query<Extremes>(
      `select count(*) as rows, min(${column}) as first, max(${column}) as last, max(assigned) as most
       from ${table} where network = ? and day >= ?`,
      [network, fromDay],
    )
    return row && row.rows > 0 ? row : undefined
  }
  const fits = ({ first, last, most }: Extremes, low: number, high: number, mostMax: number) =>
    first >= low && last <= high && most <= mostMax
  const days = await extremes('duty_days', 'day', 0)
  if (!days) return true
  if (!fits(days, line.dayOf(read.from), line.dayOf((read.until - 1) as Epoch), time.epochsPerDay)) return false
  // One day's hours are enough, and a network may have hundreds of millions.
  const hours = await extremes('duty_hours', 'hour', days.last)
  if (!hours) return true
  const newest = overlap(line.epochsOf(days.last as never), read)
  const [low, high] = [hourOf(time, newest.from), hourOf(time, (newest.until - 1) as Epoch)]
  return fits(hours, low, high, time.epochsPerHour)
}
