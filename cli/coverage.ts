// `tetrad coverage`: how much of each chain, network and feed has been read, how old it is, and where the holes are.
import type { Command } from 'commander'
import type { Coverage, Stream } from '#server/upkeep/coverage.ts'
import { withState } from './data.ts'
import { askOwner } from './owner.ts'
import { note, print, printJson, table } from './print.ts'
import { type CommonOptions, configOf } from './settings.ts'

/** An entry of the report, with what takes a while to count. */
interface Shown extends Stream {
  readonly chain?: string
  readonly addresses?: number
}

const holesShown = 10

export function addCoverage(program: Command): void {
  program
    .command('coverage')
    .description(
      'Show how much of every chain, network and feed has been read, and every hole; fails when there is one.',
    )
    .option('--chain <id>', 'only this chain')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & { chain?: string }>()
      const shown = await reportsOf(options)
      if (options.json) printJson(shown)
      else show(shown)
      if (shown.some((one) => one.holesCount > 0)) process.exitCode = 1
    })
}

async function reportsOf(options: CommonOptions & { chain?: string }): Promise<readonly Shown[]> {
  const { coverageReport } = await import('#server/upkeep/coverage.ts')
  const { streams } = await askOwner<Coverage>(options, { name: 'coverage', here: coverageReport })
  const { chains } = (await configOf(options)).settings.explorer
  const wanted = streams.filter(({ name }) => options.chain === undefined || name === `chain ${options.chain}`)
  // Counted here and not by the server, which has better things to do.
  return withState(options, 'found', async (state) => {
    const shown: Shown[] = []
    for (const stream of wanted) {
      const chain = chains.find(({ id }) => stream.name === `chain ${id}`)?.id
      const row =
        chain === undefined
          ? undefined
          : await state.get<{ count: number }>('select count(*) as count from fundings where chain = ?', chain)
      shown.push({ ...stream, ...(chain !== undefined && { chain, addresses: row?.count ?? 0 }) })
    }
    return shown
  })
}

function show(streams: readonly Shown[]): void {
  const rows = streams.map(({ name, from, until, read, holesCount, ageSeconds, fresh, addresses }) => {
    const total = from === null || until === null ? 0 : until - from
    return [
      ...[name, total === 0 || from === null || until === null ? '-' : `${from}-${until - 1}`],
      total === 0 || read === null ? '-' : `${((100 * read) / total).toFixed(2)} %`,
      ...[String(holesCount), ageSeconds === null ? '-' : `${ageSeconds} s`],
      ...[fresh === null ? '-' : fresh ? 'yes' : 'NO', addresses === undefined ? '-' : String(addresses)],
    ]
  })
  print(table(['stream', 'blocks or epochs', 'read', 'holes', 'age', 'fresh', 'addresses'], rows))
  for (const { name, holes, holesCount } of streams) {
    for (const { from, until } of holes.slice(0, holesShown)) print(`${name}: ${from}-${until - 1} not read`)
    if (holesCount > holesShown) print(`${name}: … and ${holesCount - holesShown} more`)
  }
  const broken = streams.find(({ chain, holesCount }) => chain !== undefined && holesCount > 0)
  if (broken) note(`Fill them with: tetrad repair --chain ${broken.chain}`)
}
