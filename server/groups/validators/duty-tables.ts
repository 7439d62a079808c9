// The tables of duties and how pieces get into them: appended once to a staging table, from which the store itself makes
// hours and days. Staging tables are empty outside a transaction.
import type { Network } from '#api/wire/validators.ts'
import type { FactsWriter } from '#store/facts.ts'
import { type Measure, measures } from './measures.ts'

export const keys = ['hour', 'day', 'utc_day'] as const
export type Key = (typeof keys)[number]

export const tables = [
  { name: 'duty_hours', keys, window: 'hour' },
  { name: 'duty_days', keys: ['day'], window: 'day' },
  { name: 'duty_utc_days', keys: ['utc_day'], window: 'utc_day' },
] as const satisfies readonly Table[]

export interface Table {
  readonly name: string
  readonly keys: readonly Key[]
  /** The key that a batch can fill in part. */
  readonly window: Key
}

/** One column per measure. Counts may be narrow: with a million validators that is a sixth of the memory. */
export type SumColumns = Readonly<Record<Measure, Float64Array | Int32Array>>

/** Sums by validator and window, sorted by validator, then time. */
export interface Folded extends Readonly<Record<Key, Int32Array>> {
  readonly isOnePiece: boolean
  readonly validator: Int32Array
  readonly sums: SumColumns
}

/** Rows that are joined at a time: the store's memory for a join does not grow with the network. */
const rowsPerPart = 131_072

/** A piece in stretches of validators. */
export function partsOf(piece: Folded): Folded[] {
  const { validator, hour, day, utc_day, sums } = piece
  const parts = Math.ceil(validator.length / rowsPerPart)
  return Array.from({ length: parts }, (_, part) => {
    const [from, until] = [part * rowsPerPart, (part + 1) * rowsPerPart]
    return {
      isOnePiece: true,
      validator: validator.subarray(from, until),
      hour: hour.subarray(from, until),
      day: day.subarray(from, until),
      utc_day: utc_day.subarray(from, until),
      sums: Object.fromEntries(
        measures.map((name) => [name, sums[name].subarray(from, until)]),
      ) as unknown as SumColumns,
    }
  })
}

/** The pieces cross over once; the store makes hours and days of them itself. */
export const stage = (
  tx: FactsWriter,
  network: Network,
  { validator, hour, day, utc_day, sums }: Folded,
): Promise<void> =>
  tx.append('duty_stage', {
    network: new Array<string>(validator.length).fill(network),
    validator,
    hour,
    day,
    utc_day,
    ...sums,
  })

/**
 * One piece, so one row per validator: nothing to group. Where its window has been written in part, each row takes in the one
 * that is there. A join and two copies keep the order of the rows and cost a third of grouping them anew (decision 0108).
 */
export async function merge(
  tx: FactsWriter,
  table: Table,
  network: Network,
  halves: readonly number[],
  { validator }: Pick<Folded, 'validator'>,
): Promise<void> {
  const own = ['network', 'validator', ...table.keys]
  const into = (name: string) => `insert into ${name} (${[...own, ...measures].join()})`
  const plain = [...own, ...measures].join()
  if (halves.length === 0) return tx.run(`${into(table.name)} select ${plain} from duty_stage`)
  const windows = `network = ? and ${table.window} in (${halves.map(() => '?').join()}) and validator >= ? and validator <= ?`
  const values = [network, ...halves, validator[0] as number, validator.at(-1) as number]
  await tx.run(
    `${into('duty_merge')} select ${own.map((key) => `fresh.${key}`).join()},
       ${measures.map((name) => `fresh.${name} + coalesce(old.${name}, 0)`).join()}
     from duty_stage as fresh left join (select * from ${table.name} where ${windows}) as old
     on ${own.map((key) => `old.${key} = fresh.${key}`).join(' and ')}`,
    values,
  )
  await tx.run(
    // All keys: the other piece of an hour that crosses midnight stays.
    `delete from ${table.name} where ${windows}
     ${['validator', ...table.keys].map((key) => `and ${key} in (select ${key} from duty_merge)`).join(' ')}`,
    values,
  )
  await tx.run(`${into(table.name)} select ${plain} from duty_merge`)
  await tx.run('delete from duty_merge')
}

export async function rollUp(tx: FactsWriter, table: Table): Promise<void> {
  const own = ['network', 'validator', ...table.keys].join()
  const [columns, grouping] =
    table.keys.length === keys.length
      ? [measures.join(), '']
      : [measures.map((measure) => `sum(${measure})`).join(), `group by ${own}`]
  await tx.run(
    `insert into ${table.name} (${own}, ${measures.join()}) select ${own}, ${columns} from duty_stage ${grouping} order by ${own}`,
  )
}

/** Windows that had been written in part now have two rows per validator: they become one again. */
export async function compact(
  tx: FactsWriter,
  table: Table,
  network: Network,
  halves: readonly number[],
): Promise<void> {
  if (halves.length === 0) return
  const where = `where network = ? and ${table.window} in (${halves.map(() => '?').join()})`
  const own = ['network', 'validator', ...table.keys].join()
  const values = [network, ...halves]
  await tx.run(
    `insert into duty_stage (${own}, ${measures.join()})
     select ${own}, ${measures.map((measure) => `sum(${measure})`).join()} from ${table.name} ${where} group by ${own}`,
    values,
  )
  await tx.run(`delete from ${table.name} ${where}`, values)
  await tx.run(
    `insert into ${table.name} (${own}, ${measures.join()})
     select ${own}, ${measures.join()} from duty_stage order by ${own}`,
  )
  await tx.run('delete from duty_stage')
}
