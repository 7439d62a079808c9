// `tetrad coverage`: how much of each chain, network and feed has been read, how old it is, and where the holes are.
import type { Command } from 'commander'
import { ageText } from '#core/age.ts'
import type { Coverage, Stream } from '#operations/coverage.ts'
import { withState } from './data.ts'
import { queryOwner } from './data-owner.ts'
import { note, print, printJson, table } from './print.ts'
import { type CommonOptions, configOf } from './settings.ts'

/** An entry of the report, with what takes a while to count. */
interface ShownStream extends Stream {
  readonly chain?: string
  readonly addresses?: number
}

const holesShown = 10

export function addCoverage(program: Command): void {
  program
    .command('coverage')
    .description(
      'Is the data fresh and complete? Every chain, network, source and feed, and every hole; fails when something is stale or missing.',
    )
    .option('--chain <id>', 'only this chain')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & { chain?: string }>()
      const shown = await reportsOf(options)
      if (options.json) printJson(shown)
      else printStreams(shown)
      if (shown.some(needsAttention)) process.exitCode = 1
    })
}

async function reportsOf(options: CommonOptions & { chain?: string }): Promise<readonly ShownStream[]> {
  const { coverageReport } = await import('#operations/coverage.ts')
  const { streams } = await queryOwner<Coverage>(options, { name: 'coverage', runHere: coverageReport })
  const { chains } = (await configOf(options)).settings.explorer
  const wanted = streams.filter(({ name }) => options.chain === undefined || name === `chain ${options.chain}`)
  // Counted here and not by the server, which has better things to do.
  return withState(options, 'found', async (state) => {
    const shown: ShownStream[] = []
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

/** What is missing where nobody is meant to read is how the operator left it. */
const needsAttention = ({ standing }: Stream): boolean => standing === 'stale' || standing === 'holes'

/** A source that nobody has set a rate for. */
const isWaiting = ({ group, standing }: Stream): boolean => group === 'fx' && standing === 'not followed'

function printStreams(streams: readonly ShownStream[]): void {
  const rows = streams.map((stream) => {
    const { name, standing, from, until, read, holesCount, ageSeconds, addresses } = stream
    const total = from === null || until === null ? 0 : until - from
    return [
      ...[needsAttention(stream) ? standing.toUpperCase() : standing, name],
      total === 0 || from === null || until === null ? '-' : `${from}-${until - 1}`,
      total === 0 || read === null ? '-' : `${shareText(read, total)} %`,
      ...[total === 0 ? '-' : String(holesCount), ageSeconds === null ? '-' : ageText(ageSeconds)],
      addresses === undefined ? '-' : String(addresses),
    ]
  })
  print(table(['standing', 'stream', 'blocks or epochs', 'read', 'holes', 'age', 'addresses'], rows))
  for (const { name, holes, holesCount } of streams) {
    for (const { from, until } of holes.slice(0, holesShown)) print(`${name}: ${from}-${until - 1} not read`)
    if (holesCount > holesShown) print(`${name}: … and ${holesCount - holesShown} more`)
  }
  print(`\n${summary(streams)}`)
  for (const { name } of streams.filter(isWaiting)) {
    note(`${name}: no rate has been set yet: tetrad fx rate set EUR/USD … --source ${name.split(' ')[1]}`)
  }
  const broken = streams.find(({ chain, standing }) => chain !== undefined && standing === 'holes')
  if (broken) note(`Fill the holes with: tetrad repair --chain ${broken.chain}`)
}

/** The whole thing at a glance. */
function summary(streams: readonly Stream[]): string {
  const needingAttention = streams.filter(needsAttention).length
  const catching = streams.filter(({ standing }) => standing === 'catching up').length
  const waiting = streams.filter(isWaiting).length
  const open = streams.filter(({ standing, complete }) => standing === 'not followed' && !complete).length - waiting
  const ageless = streams.filter(({ standing, fresh }) => standing === 'well' && fresh === null).length
  const also = [
    ...(catching > 0 ? [`${catching} catching up`] : []),
    ...(open > 0 ? [`${open} with a part that nobody reads`] : []),
    ...(waiting > 0 ? [`${waiting} without a rate yet`] : []),
    ...(ageless > 0 ? [`${ageless} of unknown age`] : []),
  ]
  if (needingAttention > 0)
    return `${needingAttention} of ${streams.length} stale or incomplete${also.map((one) => `, ${one}`).join('')}.`
  if (also.length === 0) return 'Fresh and complete.'
  // Only the server that reads a chain knows when it last saw its head.
  if (ageless > 0 && also.length === 1) return 'Complete; how fresh is not known: no server was asked that reads it.'
  return `Nothing ${ageless > 0 ? 'known to be ' : ''}stale; ${also.join(', ')}.`
}

/** Never rounded up to the whole. */
const shareText = (read: number, total: number): string => (Math.floor((10_000 * read) / total) / 100).toFixed(2)
