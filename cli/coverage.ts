// `tetrad coverage`: how much of each chain has been read, and where the holes are.
import type { Command } from 'commander'
import type { Range } from '#core/ranges.ts'
import { withState } from './data.ts'
import { note, print, printJson, table } from './print.ts'
import { type CommonOptions, configOf } from './settings.ts'

interface Report {
  readonly chain: string
  readonly name: string
  readonly span: Range
  readonly read: number
  readonly holes: readonly Range[]
  readonly addresses: number
}

const holesShown = 10

export function addCoverage(program: Command): void {
  program
    .command('coverage')
    .description('Show how much of each chain has been read, and every hole; fails when there is one.')
    .option('--chain <id>', 'only this chain')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions & { chain?: string }>()
      const { settings } = await configOf(options)
      const chains = settings.explorer.chains.filter(({ id }) => options.chain === undefined || id === options.chain)
      const { standingOf } = await import('#groups/explorer/standing.ts')
      const { holes } = await import('#core/ranges.ts')
      const reports = await withState(options, 'found', async (state) => {
        const found: Report[] = []
        for (const { id, name } of chains) {
          const { span, covered } = await standingOf({ state, settings }, id)
          const missing = holes(covered, span)
          const unread = missing.reduce((sum, { from, until }) => sum + until - from, 0)
          const row = await state.get<{ count: number }>('select count(*) as count from fundings where chain = ?', id)
          const read = span.until - span.from - unread
          found.push({ chain: id, name, span, read, holes: missing, addresses: row?.count ?? 0 })
        }
        return found
      })
      if (options.json) printJson(reports.map(asJson))
      else show(reports)
      if (reports.some((one) => one.holes.length > 0)) process.exitCode = 1
    })
}

function show(reports: readonly Report[]): void {
  const rows = reports.map(({ chain, name, span, read, holes, addresses }) => {
    const total = span.until - span.from
    const share = total === 0 ? '-' : `${((100 * read) / total).toFixed(2)} %`
    return [
      chain,
      name,
      total === 0 ? '-' : `${span.from}-${span.until - 1}`,
      share,
      String(holes.length),
      String(addresses),
    ]
  })
  print(table(['chain', 'name', 'final blocks', 'read', 'holes', 'addresses'], rows))
  for (const { chain, holes } of reports) {
    for (const { from, until } of holes.slice(0, holesShown)) print(`chain ${chain}: ${from}-${until - 1} not read`)
    if (holes.length > holesShown) print(`chain ${chain}: … and ${holes.length - holesShown} more`)
  }
  const broken = reports.find(({ holes }) => holes.length > 0)
  if (broken) note(`Fill them with: tetrad repair --chain ${broken.chain}`)
}

const asJson = ({ chain, span, read, holes, addresses }: Report) => ({
  chain,
  from: span.from,
  until: span.until,
  read,
  holes,
  addresses,
})
