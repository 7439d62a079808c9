// Sends the rows of one day or one hour to ClickHouse.
//
// 1. Sending a unit again is harmless: ClickHouse keeps the row with the highest version for each validator, and equal
//    versions have equal values unless a change with a higher version follows.
// 2. A validator that has a row in ClickHouse and no duties in the unit any more (after a repair) gets a row of zeros.
// 3. Memory does not grow with the number of validators, except one byte for each.
import type { Network } from '#api/contract/wire/validators.ts'
import type { ChainTime, Epochs } from '#core/chain-time.ts'
import type { Duties } from '#storage/duties.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { partsIn, plainTime } from '#validators/duties/layout.ts'
import { measures } from '#validators/method/measures.ts'
import { countCommon, findValidators } from '../export/duties.ts'
import type { ClickhouseClient } from './clickhouse-client.ts'
import { columnNames, type MirrorTable, timeColumn } from './mirror-tables.ts'

/** Per query. More would block the event loop for longer while rows are written as text. */
const validatorsAtOnce = 1024
/** Per insert. ClickHouse works best with few large inserts. */
const insertCharsMin = 8 * 1024 * 1024

export interface UnitToSend {
  readonly table: MirrorTable
  readonly network: Network
  readonly time: ChainTime
  readonly unit: number
  readonly version: number
}

/** Whether all figures of the unit that were read are still stored. */
export type IsStored = () => Promise<boolean>

/** Returns the number of rows. */
export async function sendUnit(
  duties: Duties,
  clickhouse: ClickhouseClient,
  unitToSend: UnitToSend,
  isStored: IsStored,
  signal: AbortSignal,
): Promise<number> {
  const { table, network, time, unit } = unitToSend
  if (!(await isStored())) return 0
  const epochs = table.epochsOf(time, unit)
  const validators = await findValidators(duties, network, partsIn(time, epochs))
  const inserter = createInserter(clickhouse, unitToSend, await countRead(duties, network, epochs), signal)
  const isSent = new Uint8Array((validators.at(-1) ?? -1) + 1)
  for (let at = 0; at < validators.length; at += validatorsAtOnce) {
    const { validator, sums } = await duties.query(
      'sumRecords',
      {
        query: {
          network,
          time: plainTime(time),
          grain: 'days',
          byValidator: true,
          ...table.selectUnit(time, unit),
          validators: [...validators.subarray(at, at + validatorsAtOnce)],
        },
        wanted: { measures, scores: [] },
      },
      signal,
    )
    for (let record = 0; record < validator.length; record++) {
      const index = validator[record] as number
      isSent[index] = 1
      inserter.add(
        index,
        measures.map((name) => sums[name]?.[record] as number),
      )
    }
    await inserter.insertIfLarge()
  }
  // Hours can be deleted by age while they are read. Then missing duties do not mean that there were none.
  if (!(await isStored())) return inserter.insert()
  for (const validator of await findOlderRows(clickhouse, unitToSend, signal))
    if (isSent[validator] !== 1) inserter.add(validator, zeros)
  return inserter.insert()
}

const zeros = measures.map(() => 0)

const countRead = async (duties: Duties, network: Network, epochs: Epochs): Promise<number> =>
  countCommon(epochs, (await coveredEpochs(duties, network)) as Epochs[])

/** Validators that have a row of this unit with a lower version. */
async function findOlderRows(
  clickhouse: ClickhouseClient,
  { table, network, time, unit, version }: UnitToSend,
  signal: AbortSignal,
): Promise<number[]> {
  const [start] = table.unitValues(time, unit)
  const text = await clickhouse.run(
    `select distinct validator_index from ${table.name}
     where network = '${network}' and ${timeColumn(table)} = '${start}' and version < ${version}
     format TabSeparated`,
    signal,
  )
  return text === '' ? [] : text.trimEnd().split('\n').map(Number)
}

/** Collects rows as text and inserts them in large batches. */
function createInserter(
  clickhouse: ClickhouseClient,
  { table, network, time, unit, version }: UnitToSend,
  epochs: number,
  signal: AbortSignal,
) {
  const start = [network, ...table.unitValues(time, unit)].join('\t')
  let text = ''
  let count = 0
  /** Returns the number of all rows so far. */
  const insert = async (): Promise<number> => {
    const rows = text
    text = ''
    if (rows !== '') await clickhouse.insert(table.name, columnNames(table), rows, signal)
    return count
  }
  return {
    add(validator: number, values: readonly number[]): void {
      let row = `${start}\t${validator}\t${epochs}\t`
      for (const value of values) row += Number.isNaN(value) ? '\\N\t' : `${value}\t`
      text += `${row}${version}\n`
      count += 1
    },
    insert,
    insertIfLarge: async () => {
      if (text.length >= insertCharsMin) await insert()
    },
  }
}
