// `tetrad move` carries what a data folder holds over to PostgreSQL and ClickHouse while the server goes on serving from the folder. Run
// again after the server has stopped it brings over what is left, which takes a fraction of the time (decisions 0139, 0143).
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import type { MovedTable, MoveProgress } from '#store/move.ts'
import type { StoreOptions } from '#store/open.ts'
import { refuseDemo } from './data.ts'
import { CommandFailure } from './failure.ts'
import { askServer } from './owner.ts'
import { print, printJson } from './print.ts'
import { openProgress } from './progress.ts'
import { type CommonOptions, configOf, dataDirOf } from './settings.ts'

interface MoveOptions extends CommonOptions {
  readonly from?: string
  readonly to?: readonly string[]
}

/** Empty: stays where it is. */
interface Targets {
  readonly state: string
  readonly facts: string
}

type Tell = (told: MoveProgress) => void

export function addMove(program: Command): void {
  program
    .command('move')
    .description('Carry the stores of a data folder over to PostgreSQL and ClickHouse, and verify every row.')
    .option('--from <dir>', 'data folder to read (default: --data)')
    .option(
      '--to <url...>',
      'postgres://… for the state, clickhouse://… for the facts, or both (default: store.state and store.facts of the configuration, which keeps passwords out of sight)',
    )
    .addHelpText(
      'after',
      `
The server may go on serving from the folder. Then stop it, run the same command once more, set store.state and store.facts and start it.

Example:
  $ export TETRAD_STORE_STATE=postgres://tetrad:…@db/tetrad TETRAD_STORE_FACTS=clickhouse://tetrad:…@ch/tetrad
  $ tetrad move --from ./data`,
    )
    .action((_: unknown, command: Command) => move(command.optsWithGlobals()))
}

async function move(options: MoveOptions): Promise<void> {
  const { settings } = await configOf(options)
  const from = options.from ?? dataDirOf(options)
  const to = targetsOf(options.to, settings.store)
  for (const [is, file] of [
    [to.state, 'state.sqlite'],
    [to.facts, 'facts.duckdb'],
  ] as const) {
    if (is === '' || existsSync(join(from, file))) continue
    throw new CommandFailure('data.missing', `There is no ${file} in ${from}; name the data folder with --from.`)
  }
  const [{ openState }, { markSource }, { systemClock }, { systemRandom }, { untilStopped }] = await Promise.all([
    import('#store/open.ts'),
    import('#store/move.ts'),
    import('#io/clock.ts'),
    import('#io/random.ts'),
    import('./stop.ts'),
  ])
  const startMs = systemClock.monotonicMs()
  await using undo = new AsyncDisposableStack()
  // The name of the installation is in its state, wherever that is.
  const live = await openState(from, to.state === '' ? settings.store : {})
  let id: number
  try {
    await refuseDemo(options, live)
    id = await markSource(live, systemRandom)
  } finally {
    await live.close()
  }
  // Beside the original, so that it is on a disk that has room for such files.
  const folder = await mkdtemp(join(resolve(from), 'moving-'))
  undo.defer(() => rm(folder, { recursive: true, force: true }))
  const copy = join(folder, 'copy')
  await takeCopy({ ...options, data: from }, from, copy, to)

  const stop = new AbortController()
  const progress = openProgress(options.json === true, () => systemClock.monotonicMs(), process.stderr, 'rows')
  const tables: MovedTable[] = []
  const work = (async () => {
    if (to.state !== '')
      tables.push(
        ...(await bringState(copy, from, { ...settings.store, state: to.state }, stepping(progress, 2), stop.signal)),
      )
    if (to.facts !== '')
      tables.push(...(await bringFacts(copy, from, to.facts, id, stepping(progress, 1), stop.signal)))
  })()
  await Promise.race([work, untilStopped(systemClock, async () => stop.abort())])
  await work.catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
    throw new CommandFailure('move.stopped', 'Stopped; the same command goes on where this one was.')
  })
  progress.end()
  tellReport(options, tables, (systemClock.monotonicMs() - startMs) / 1000)
}

function targetsOf(named: readonly string[] | undefined, configured: Targets): Targets {
  const isState = (url: string) => /^postgres(ql)?:\/\//.test(url)
  const isFacts = (url: string) => /^clickhouse:\/\//.test(url)
  const to = named
    ? { state: named.find(isState) ?? '', facts: named.find(isFacts) ?? '' }
    : { state: configured.state, facts: configured.facts }
  const odd = named?.some((url) => !isState(url) && !isFacts(url))
  if (!odd && (to.state !== '' || to.facts !== '')) return to
  throw new CommandFailure(
    'move.nowhere',
    'Say where to with --to postgres://… or --to clickhouse://…, or set store.state or store.facts.',
  )
}

/** One moment of the folder. The facts belong to the server while one runs, so it is asked for a copy. */
async function takeCopy(options: CommonOptions, from: string, copy: string, to: Targets): Promise<void> {
  if (to.facts === '') {
    const [{ copySqlite }, { mkdir }] = await Promise.all([
      import('#store/engines/sqlite-copy.ts'),
      import('node:fs/promises'),
    ])
    await mkdir(copy)
    await copySqlite(join(from, 'state.sqlite'), join(copy, 'state.sqlite'))
    return
  }
  if (await askServer(options, 'copy', { dir: copy })) return
  const [{ openFacts }, { copyStores }] = await Promise.all([import('#store/open.ts'), import('#store/backup.ts')])
  const facts = await openFacts(from)
  try {
    await copyStores(from, facts, copy)
  } finally {
    await facts.close()
  }
}

async function bringState(
  copy: string,
  from: string,
  to: StoreOptions,
  tell: Tell,
  signal: AbortSignal,
): Promise<readonly MovedTable[]> {
  const [{ openState }, { moveState }] = await Promise.all([import('#store/open.ts'), import('#store/move.ts')])
  await using undo = new AsyncDisposableStack()
  const source = undo.adopt(await openState(copy), (state) => state.close())
  const target = undo.adopt(await openState(from, to), (state) => state.close())
  return (await moveState(source, target, tell, signal)).tables
}

async function bringFacts(
  copy: string,
  from: string,
  url: string,
  id: number,
  tell: Tell,
  signal: AbortSignal,
): Promise<readonly MovedTable[]> {
  const [{ openFacts }, { moveFacts }] = await Promise.all([import('#store/open.ts'), import('#store/move-facts.ts')])
  await using undo = new AsyncDisposableStack()
  const source = undo.adopt(await openFacts(copy), (facts) => facts.close())
  const target = undo.adopt(await openFacts(from, { facts: url }), (facts) => facts.close())
  return await moveFacts(source, target, id, tell, signal)
}

/** Rows of the state are counted twice: when they are compared, and when they are verified; what is written lies in between. */
function stepping(progress: ReturnType<typeof openProgress>, times: number): Tell {
  const seen = new Map<string, number>()
  return ({ table, rows, rowsTotal }) => {
    const before = seen.get(table)
    if (before === undefined) progress.plan(times * rowsTotal)
    seen.set(table, rows)
    progress.step(rows - (before === undefined || before >= rows ? 0 : before), table)
  }
}

function tellReport(options: MoveOptions, tables: readonly MovedTable[], tookSeconds: number): void {
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
