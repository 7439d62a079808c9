// The commands of `tetrad fx` that change pricing while servers run. They write to the database, so that every server uses
// the change for the quotes that it stores from then on.
import { userInfo } from 'node:os'
import { type Command, InvalidArgumentError } from 'commander'
import type { OverrideChange, Overrides } from '#fx/pricing/overrides.ts'
import { withState } from './data.ts'
import { note, print, printJson, table } from './print.ts'
import { clock } from './runtime.ts'
import { type CommonOptions, configOf } from './settings.ts'

const pairText = 'two tokens, such as EURC/USDC, for both directions; all: every pair'

export function addOverrides(fx: Command): void {
  const change = (command: Command, toChange: (...given: string[]) => Omit<OverrideChange, 'pair'>) =>
    command
      .option('--by <who>', 'author of the change (default: name of the user)')
      .action((pair: string, ...rest: unknown[]) => {
        const options = (rest.at(-1) as Command).optsWithGlobals<ChangeOptions>()
        return changeAndPrint(options, { pair: pair === 'all' ? null : pair, ...toChange(String(rest[0])) })
      })
  change(
    fx
      .command('pause')
      .description('Stop quotes, in all servers. Quotes that are already stored can still be accepted.')
      .argument('[pair]', pairText, parsePair, 'all'),
    () => ({ paused: true }),
  )
  change(
    fx
      .command('resume')
      .description('End a pause. A pause of all pairs and pauses of single pairs end separately.')
      .argument('[pair]', pairText, parsePair, 'all'),
    () => ({ paused: false }),
  )
  change(
    fx
      .command('spread')
      .description('Use another spread instead of that of terms and rules, in all servers.')
      .argument('<pair>', pairText, parsePair)
      .argument('<bps>', 'spread in basis points, such as 25 or 2.5; none: end it', parseSpread),
    (bps) => ({ spreadBps: bps === 'none' ? null : bps }),
  )
  fx.command('overrides')
    .description('List pauses and spreads that were set while servers run, with who set them and when.')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>()
      const { readOverrides } = await import('#fx/pricing/overrides.ts')
      await printOverrides(options, await withState(options, 'found', readOverrides))
    })
}

interface ChangeOptions extends CommonOptions {
  readonly by?: string
}

async function changeAndPrint(options: ChangeOptions, change: OverrideChange): Promise<void> {
  const { changeOverride } = await import('#fx/pricing/overrides.ts')
  const { settings } = await configOf(options)
  const by = options.by ?? userInfo().username
  const overrides = await withState(options, 'found', (state) => changeOverride({ state, clock, settings }, change, by))
  await printOverrides(options, overrides)
}

async function printOverrides(options: CommonOptions, { list }: Overrides): Promise<void> {
  const { overrideView } = await import('#fx/pricing/overrides.ts')
  const rows = list.map(overrideView)
  if (options.json) return printJson(rows)
  if (rows.length === 0) return note('There are no overrides.')
  print(
    table(
      ['pair', 'quotes', 'spread', 'changed', 'by'],
      rows.map(({ pair, paused, spreadBps, changedAt, changedBy }) => [
        ...[pair, paused ? 'paused' : 'on', spreadBps === null ? '–' : `${spreadBps} bps`, changedAt, changedBy],
      ]),
    ),
  )
}

function parsePair(text: string): string {
  if (text === 'all' || /^[A-Za-z0-9]{2,16}\/[A-Za-z0-9]{2,16}$/.test(text)) return text
  throw new InvalidArgumentError('It must be two tokens, such as EURC/USDC, or all.')
}

function parseSpread(text: string): string {
  if (text === 'none' || /^\d{1,4}(\.\d{1,2})?$/.test(text)) return text
  throw new InvalidArgumentError('It must be basis points below 10000 with at most two decimals, or none.')
}
