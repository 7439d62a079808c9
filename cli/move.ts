// `tetrad move` copies a data folder, state and duties, to PostgreSQL while the server keeps serving from the folder. Run again after
// the server has stopped, it copies what has changed since, which takes a fraction of the time (behaviour/operations.md#moving-to-postgresql).
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { MovedTable, MoveProgress } from '#storage/move.ts'
import type { State } from '#storage/state.ts'
import { refuseDemo } from './data.ts'
import { CommandFailure } from './failure.ts'
import { print, printJson } from './print.ts'
import { openProgress } from './progress.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

interface MoveOptions extends CommonOptions {
  readonly from?: string
  readonly to?: string
}

const stateFile = 'state.sqlite'

export function addMove(program: Command): void {
  program
    .command('move')
    .description('Copy a data folder to PostgreSQL, and verify every row.')
    .option('--from <dir>', 'data folder to read (default: --data)')
    .option(
      '--to <url>',
      'postgres://… (default: store.state of the configuration, which keeps the password out of the command line)',
    )
    .addHelpText(
      'after',
      `
The server may keep running on the folder. Then stop it, run the same command again, set store.state and start it. Until the command
has ended no server starts on the target.

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
    throw new CommandFailure('move.nowhere', 'Name the target with --to postgres://…, or set store.state.')
  }
  if (!existsSync(join(from, stateFile))) {
    throw new CommandFailure('data.missing', `There is no ${stateFile} in ${from}; name the data folder with --from.`)
  }
  const [{ openDuties, openState }, { moveStores }, { systemClock }, { untilStopped }] = await Promise.all([
    import('#storage/open.ts'),
    import('#storage/move.ts'),
    import('#runtime/clock.ts'),
    import('./stop.ts'),
  ])
  const startMs = systemClock.monotonicMs()
  await using undo = new AsyncDisposableStack()
  // Beside the original, so that it is on a disk that has room for such files.
  const folder = await mkdtemp(join(resolve(from), 'moving-'))
  undo.defer(() => rm(folder, { recursive: true, force: true }))
  const copy = join(folder, 'copy')
  await copyFolder(options, from, copy)

  const stop = new AbortController()
  const progress = openProgress(options.json === true, () => systemClock.monotonicMs(), process.stderr, 'rows')
  const work = (async () => {
    const opened = (state: State) => undo.adopt(state, () => state.close())
    const shared = { ...settings.store, state: to }
    const moves = [
      { source: opened(await openState(copy)), target: opened(await openState(from, shared)) },
      { source: opened(await openDuties(copy)), target: opened(await openDuties(from, shared)), prefix: 'duties.' },
    ]
    return moveStores(moves, stepping(progress), stop.signal)
  })()
  await Promise.race([work, untilStopped(systemClock, async () => stop.abort())])
  const { tables } = await work.catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
    throw new CommandFailure('move.stopped', 'Stopped; the same command goes on where this one was.')
  })
  progress.end()
  printMoveReport(options, tables, (systemClock.monotonicMs() - startMs) / 1000)
}

/** One moment of the folder, whether a server runs on it or not: writes of duties wait until both files are copied. */
async function copyFolder(options: MoveOptions, from: string, copy: string): Promise<void> {
  const [{ openDuties, openState }, { identifySource: markSource }, { copyStores }, { dutiesHere }, { systemRandom }] =
    await Promise.all([
      import('#storage/open.ts'),
      import('#storage/move.ts'),
      import('#storage/backup.ts'),
      import('#validators/duties/store.ts'),
      import('#runtime/random.ts'),
    ])
  await using undo = new AsyncDisposableStack()
  const state = undo.adopt(await openState(from), (one) => one.close())
  await refuseDemo(options, state)
  const duties = undo.adopt(await openDuties(from), (one) => one.close())
  for (const source of [state, duties]) await markSource(source, systemRandom)
  await copyStores(from, dutiesHere(duties), copy)
}

/** Rows are counted twice: when they are compared, and when they are verified; what is written lies in between. */
function stepping(progress: ReturnType<typeof openProgress>): (progress: MoveProgress) => void {
  const seen = new Map<string, number>()
  return ({ table, rows, rowsTotal }) => {
    const before = seen.get(table)
    if (before === undefined) progress.plan(2 * rowsTotal)
    seen.set(table, rows)
    progress.step(rows - (before === undefined || before >= rows ? 0 : before), table)
  }
}

function printMoveReport(options: MoveOptions, tables: readonly MovedTable[], tookSeconds: number): void {
  if (options.json) {
    printJson({ tables, tookSeconds })
    return
  }
  const sum = (field: 'rows' | 'written') => tables.reduce((total, table) => total + table[field], 0)
  print(
    `Moved: ${tables.length} tables, ${sum('rows')} rows, all of them verified; ${sum('written')} had to be written. ${tookSeconds.toFixed(1)} s.`,
  )
  if (sum('written') > 0) {
    print(
      'If the server was running meanwhile: stop it, and run the same command once more before you start it from there.',
    )
  }
}
