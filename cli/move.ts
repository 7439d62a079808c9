// `tetrad move` copies a data folder to PostgreSQL while the server keeps running. Run again after
// the server has stopped, it copies only what has changed since (behaviour/operations.md#moving-to-postgresql).
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { MovedTable, MoveProgress } from '#storage/move.ts'
import type { State } from '#storage/state.ts'
import { refuseDemo } from './data.ts'
import { CommandFailure } from './failure.ts'
import { note, print, printResult } from './print.ts'
import { openProgress } from './progress.ts'
import { clock, random } from './runtime.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'
import { stopSignal } from './stop.ts'

interface MoveOptions extends CommonOptions {
  readonly from?: string
  readonly to?: string
}

const stateFile = 'state.sqlite'

export function addMove(program: Command): void {
  program
    .command('move')
    .description('Copy a data folder to PostgreSQL and verify every row.')
    .option('--from <dir>', 'data folder to read (default: --data)')
    .option('--to <url>', 'postgres://… (default: store.state, which keeps the password out of the command line)')
    .addHelpText(
      'after',
      `
The server may keep running. Afterwards stop it, run the same command again, set store.state and start it. No server
starts on the target before that.

Example:
  $ export TETRAD_STORE_STATE=postgres://tetrad:…@db/tetrad
  $ tetrad move --from ./data`,
    )
    .action((_: unknown, command: Command) => moveData(command.optsWithGlobals()))
}

async function moveData(options: MoveOptions): Promise<void> {
  const { settings } = await configOf(options)
  const from = options.from ?? dataDirOf(options)
  const to = options.to ?? settings.store.state
  if (!/^postgres(ql)?:\/\//.test(to)) {
    throw new CommandFailure('move.no_target', 'No target. Pass --to postgres://… or set store.state.')
  }
  if (!existsSync(join(from, stateFile))) {
    throw new CommandFailure('data.missing', `${from} contains no ${stateFile}. Use --from for the data folder.`)
  }
  const [{ openDuties, openStateAndIngest, openState }, { moveStores }] = await Promise.all([
    import('#storage/open.ts'),
    import('#storage/move.ts'),
  ])
  const startMs = clock.monotonicMs()
  await using cleanup = new AsyncDisposableStack()
  // On the same disk as the original, which has room for such files.
  const folder = await mkdtemp(join(resolve(from), 'moving-'))
  cleanup.defer(() => rm(folder, { recursive: true, force: true }))
  const copy = join(folder, 'copy')
  const { isUsed } = await copyFolder(options, from, copy, cleanup)

  const signal = stopSignal(clock)
  const progress = openProgress(options.json === true, 'rows')
  const work = (async () => {
    const closeLater = (state: State) => cleanup.adopt(state, () => state.close())
    const shared = { ...settings.store, state: to }
    const source = cleanup.adopt(await openStateAndIngest(copy), (stores) => stores.close())
    const target = closeLater(await openState(from, shared))
    const moves = [
      { source: source.state, target, except: ['cursors'] },
      { source: source.ingest, target },
      {
        source: closeLater(await openDuties(copy)),
        target: closeLater(await openDuties(from, shared)),
        prefix: 'duties.',
      },
    ]
    return moveStores(moves, reportTo(progress), signal, !isUsed)
  })()
  const tables = await work.catch((error: unknown) => {
    if (!signal.aborted) throw error
    throw new CommandFailure('move.stopped', 'Stopped. Run the same command again to continue.')
  })
  progress.end()
  printMoveReport(options, { tables, isFinal: !isUsed, tookSeconds: (clock.monotonicMs() - startMs) / 1000 })
}

/** A copy of all files of one moment, with or without a running server. Without one, none starts before the move ends. */
async function copyFolder(
  options: MoveOptions,
  from: string,
  copy: string,
  moveCleanup: AsyncDisposableStack,
): Promise<{ readonly isUsed: boolean }> {
  const [{ openDuties, openStateAndIngest }, { identifySources }, { copyStores }, { lockUnusedFolder }] =
    await Promise.all([
      import('#storage/open.ts'),
      import('#storage/move.ts'),
      import('#storage/backup.ts'),
      import('#storage/folder-lock.ts'),
    ])
  await using cleanup = new AsyncDisposableStack()
  const { upgradeBackups } = (await configOf(options)).settings.store
  const opened = await openStateAndIngest(from, { upgradeBackups, onUpgrade: note })
  const stores = cleanup.adopt(opened, () => opened.close())
  await refuseDemo(options, stores)
  const duties = cleanup.adopt(await openDuties(from), (store) => store.close())
  const lock = lockUnusedFolder(from)
  if (lock) moveCleanup.use(lock)
  // State and ingest get the same id, because they have the same target.
  await identifySources([stores.state, stores.ingest], random)
  await identifySources([duties], random)
  await copyStores(from, stores.ingest, copy)
  return { isUsed: !lock }
}

/** Rows count twice: when they are compared, and when they are verified after writing. */
function reportTo(progress: ReturnType<typeof openProgress>): (progress: MoveProgress) => void {
  const rowsByTable = new Map<string, number>()
  return ({ table, rows, rowsTotal }) => {
    const before = rowsByTable.get(table)
    if (before === undefined) progress.plan(2 * rowsTotal)
    rowsByTable.set(table, rows)
    progress.step(rows - (before === undefined || before >= rows ? 0 : before), table)
  }
}

interface MoveReport {
  readonly tables: readonly MovedTable[]
  /** Whether the target has everything, so that a server may start on it. */
  readonly isFinal: boolean
  readonly tookSeconds: number
}

function printMoveReport(options: MoveOptions, report: MoveReport): void {
  const { tables, isFinal, tookSeconds } = report
  const sum = (field: 'rows' | 'written') => tables.reduce((total, table) => total + table[field], 0)
  const text = `Moved: ${tables.length} tables, ${sum('rows')} rows, all verified, ${sum('written')} written. ${tookSeconds.toFixed(1)} s.`
  printResult(options, report, text)
  if (!options.json && !isFinal)
    print(
      'A server uses the data folder. Stop it and run the same command again; until then none starts on PostgreSQL.',
    )
}
