// Copies validator duties to ClickHouse: every UTC day and every chain hour that is over (docs/mirror.md).
//
// 1. Each table and network has its own cursors in the state: the next unit, the last change of past days that was sent,
//    and the version before the first row. They are moved after the rows are inserted. A process that is killed in
//    between sends the same rows again, which is harmless (send-unit.ts).
// 2. Changes of past days (a filled gap, a repair, an added validator) are in the table duty_changes. Units that were
//    sent before the change are sent again with a higher version.
// 3. The mirror only reads duties, in small queries. Ingest never waits for it.
import type { Network } from '#api/contract/wire/validators.ts'
import { type ChainTime, epochStartMs } from '#core/chain-time.ts'
import { type Range, within } from '#core/ranges.ts'
import type { Context } from '#http/context.ts'
import { cursorOf, moveCursor } from '#storage/coverage.ts'
import type { StateReader } from '#storage/state.ts'
import { coveredEpochs } from '#validators/duties/coverage.ts'
import { hourEpochs } from '#validators/duties/hours.ts'
import { epochsOfUnit, levels } from '#validators/duties/layout.ts'
import { storedNetworks, storedTime } from '#validators/duties/networks.ts'
import { countChanges, lastRevision, nextChange } from '#validators/duties/past-changes.ts'
import type { ClickhouseClient } from './clickhouse-client.ts'
import { createStatement, dailyTable, hourlyTable, type MirrorTable } from './mirror-tables.ts'
import { sendUnit } from './send-unit.ts'

export type MirrorContext = Pick<Context, 'ingest' | 'duties' | 'settings' | 'clock'>
type SendContext = MirrorContext & { readonly clickhouse: ClickhouseClient; readonly signal: AbortSignal }

export const mirrorTables = ({ settings }: Pick<Context, 'settings'>): readonly MirrorTable[] =>
  settings.mirrors.clickhouse.hours ? [dailyTable, hourlyTable] : [dailyTable]

/** The rows of one network in one table. */
interface Stream {
  readonly table: MirrorTable
  readonly network: Network
  readonly time: ChainTime
}

interface Cursors {
  readonly nextUnit: number
  /** Revision of the last change that was sent. */
  readonly changes: number
  /** Versions of rows are this number plus a revision. */
  readonly baseVersion: number
}

const cursorNames = ['nextUnit', 'changes', 'baseVersion'] as const

const cursorName = ({ table, network }: Pick<Stream, 'table' | 'network'>, name: keyof Cursors): string =>
  `mirror/clickhouse/${table.name}/${network}/${name}`

// ------------------------------------------------------------------------------------------------------------------ tables

/** Creates missing tables. A new table is filled from the beginning, whatever was sent before. */
export async function prepareTables(
  { ingest, settings }: Pick<Context, 'ingest' | 'settings'>,
  clickhouse: ClickhouseClient,
  signal?: AbortSignal,
): Promise<void> {
  for (const table of mirrorTables({ settings })) {
    const exists = await clickhouse.run(`exists table ${table.name} format TabSeparated`, signal)
    if (exists.trim() === '1') continue
    // First the cursors: if the process ends in between, the table still does not exist.
    await ingest.write((tx) => tx.run('delete from cursors where stream like ?', `mirror/clickhouse/${table.name}/%`))
    await clickhouse.run(createStatement(table), signal)
  }
}

// ----------------------------------------------------------------------------------------------------------------- sending

/** Sends one unit, or one change of past days. Returns the number of rows; undefined: everything has been sent. */
export async function sendNext(
  context: MirrorContext,
  clickhouse: ClickhouseClient,
  signal: AbortSignal,
): Promise<number | undefined> {
  const sendContext = { ...context, clickhouse, signal }
  for (const stream of await findStreams(context)) {
    const rows = (await sendNextUnit(sendContext, stream)) ?? (await sendNextChange(sendContext, stream))
    if (rows !== undefined) return rows
  }
  return undefined
}

async function findStreams(context: Pick<Context, 'duties' | 'settings'>): Promise<readonly Stream[]> {
  const streams: Stream[] = []
  for (const network of await storedNetworks(context.duties)) {
    const time = await storedTime(context.duties, network)
    if (time) streams.push(...mirrorTables(context).map((table) => ({ table, network, time })))
  }
  return streams
}

async function sendNextUnit(context: SendContext, stream: Stream): Promise<number | undefined> {
  const cursors = await openCursors(context, stream)
  const unit = cursors && (await findNextUnit(context, stream, cursors.nextUnit))
  if (unit === undefined) return undefined
  const rows = await send(context, stream, cursors as Cursors, unit)
  await context.ingest.write((tx) => moveCursor(tx, cursorName(stream, 'nextUnit'), unit + 1))
  return rows
}

async function sendNextChange(context: SendContext, stream: Stream): Promise<number | undefined> {
  const { table, network, time } = stream
  const cursors = await readCursors(context.ingest, stream)
  const change = cursors && (await nextChange(context.duties, network, cursors.changes))
  if (!change) return undefined
  const { nextUnit } = cursors as Cursors
  const epochs = epochsOfUnit(time, levels.days, change.part)
  let rows = 0
  for (let unit = table.unitOf(time, epochs.from); unit <= table.unitOf(time, epochs.until - 1); unit++)
    // Later units are sent with the change when it is their turn.
    if (unit < nextUnit) rows += await send(context, stream, cursors as Cursors, unit)
  await context.ingest.write((tx) => moveCursor(tx, cursorName(stream, 'changes'), change.revision))
  return rows
}

/** Reads the revision before the rows: a change in between gets a higher version. */
async function send(context: SendContext, stream: Stream, { baseVersion }: Cursors, unit: number): Promise<number> {
  const { duties, clickhouse, signal } = context
  const version = baseVersion + (await lastRevision(duties, stream.network))
  const isStored = () => hasAllFigures(duties, stream, unit)
  return sendUnit(duties, clickhouse, { ...stream, unit, version }, isStored, signal)
}

/** False if the unit has not been read at all, and for hours that have been deleted by age. */
async function hasAllFigures(duties: StateReader, { table, network, time }: Stream, unit: number): Promise<boolean> {
  const epochs = table.epochsOf(time, unit)
  const covered = within(await coveredEpochs(duties, network), epochs)
  if (table !== hourlyTable) return covered.length > 0
  const stored = within(await hourEpochs(duties, network), epochs)
  return covered.length > 0 && JSON.stringify(stored) === JSON.stringify(covered)
}

// ----------------------------------------------------------------------------------------------------------------- cursors

async function readCursors(state: StateReader, stream: Stream): Promise<Cursors | undefined> {
  const read = (name: keyof Cursors) => cursorOf(state, cursorName(stream, name))
  const [nextUnit, changes, baseVersion] = await Promise.all(cursorNames.map(read))
  if (nextUnit === undefined || changes === undefined || baseVersion === undefined) return undefined
  return { nextUnit, changes, baseVersion }
}

/** Creates the cursors with the first step. Undefined: nothing has been read of this network. */
async function openCursors(context: SendContext, stream: Stream): Promise<Cursors | undefined> {
  const { ingest, duties, clickhouse, signal } = context
  const existing = await readCursors(ingest, stream)
  if (existing) return existing
  const { table, network, time } = stream
  const [first] = await coveredEpochs(duties, network)
  if (!first) return undefined
  // The table may have rows of another data folder, whose revisions have nothing to do with ours.
  const sql = `select max(version) from ${table.name} where network = '${network}' format TabSeparated`
  const highest = Number(await clickhouse.run(sql, signal))
  const cursors: Cursors = {
    nextUnit: table.unitOf(time, first.from),
    changes: await lastRevision(duties, network),
    baseVersion: highest + 1,
  }
  await ingest.write(async (tx) => {
    for (const name of cursorNames) await moveCursor(tx, cursorName(stream, name), cursors[name])
  })
  return cursors
}

/** The first unit from `from` on that is over and has epochs that were read. */
async function findNextUnit({ duties }: MirrorContext, stream: Stream, from: number): Promise<number | undefined> {
  const { table, network, time } = stream
  const covered = await coveredEpochs(duties, network)
  const next = covered.find(({ until }) => until > table.epochsOf(time, from).from)
  if (!next) return undefined
  const unit = Math.max(from, table.unitOf(time, next.from))
  return unit < endOfClosed(stream, covered) ? unit : undefined
}

/** The unit that contains the next epoch to read; all before it are over. */
const endOfClosed = ({ table, time }: Stream, covered: readonly Range[]): number =>
  table.unitOf(time, covered.at(-1)?.until ?? 0)

// ------------------------------------------------------------------------------------------------------------------ status

export interface MirrorStatus {
  readonly network: Network
  readonly table: string
  /** `days` or `hours`. */
  readonly unitName: string
  /** Units and changes of past days that have not been sent. */
  readonly pending: number
  /** How long ago the first unit that has not been sent ended; 0: all have been sent. */
  readonly lagSeconds: number
}

/** What is missing in ClickHouse, from our own databases alone. */
export async function readMirrorStatus(context: MirrorContext): Promise<readonly MirrorStatus[]> {
  const { ingest, duties, clock, settings } = context
  if (settings.mirrors.clickhouse.url === '') return []
  const statuses: MirrorStatus[] = []
  for (const stream of await findStreams(context)) {
    const { table, network, time } = stream
    const covered = await coveredEpochs(duties, network)
    const [first] = covered
    if (!first) continue
    const cursors = await readCursors(ingest, stream)
    const from = cursors?.nextUnit ?? table.unitOf(time, first.from)
    const next = await findNextUnit(context, stream, from)
    const units = next === undefined ? 0 : endOfClosed(stream, covered) - next
    const changes = cursors ? await countChanges(duties, network, cursors.changes) : 0
    const endMs = next === undefined ? undefined : epochStartMs(time, table.epochsOf(time, next).until)
    statuses.push({
      network,
      table: table.name,
      unitName: table.unitName,
      pending: units + changes,
      lagSeconds: endMs === undefined ? 0 : Math.max(0, Math.round((clock.now() - endMs) / 1000)),
    })
  }
  return statuses
}
