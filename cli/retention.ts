// `tetrad retention run`: deletes what is due by the clock of this machine, without waiting until this clock is proven.
import type { Command } from 'commander'
import type { RetentionReport } from '#operations/retention.ts'
import { queryOwner } from './data-owner.ts'
import { counted, printResult } from './print.ts'
import { withActivity } from './progress.ts'
import type { CommonOptions } from './settings.ts'

export function addRetention(program: Command): void {
  program
    .command('retention')
    .description('Delete old data.')
    .addHelpText('after', '\nExample:\n  $ tetrad retention run --json')
    .command('run')
    .description(
      'Trust the clock of this machine, and delete what is due by it: quotes, trades, idempotency keys and market versions. Use it if the doctor reports that the clock is ahead of the proven time, and the clock is right. What was deleted does not come back.',
    )
    .addHelpText('after', '\nExample:\n  $ tetrad retention run --data ./data')
    .action(async (_: unknown, command: Command) => {
      const options = command.optsWithGlobals<CommonOptions>()
      const report = await withActivity('Deleting', () => deleteNow(options), { quiet: options.json })
      const deleted = [
        counted(report.quotes, 'quote'),
        counted(report.trades, 'trade'),
        counted(report.idempotencyKeys, 'idempotency key'),
        counted(report.marketVersions, 'market version'),
      ]
      printResult(options, report, `Deleted by the clock of this machine (${report.clock}): ${deleted.join(', ')}.`)
    })
}

async function deleteNow(options: CommonOptions): Promise<RetentionReport> {
  const { runRetention } = await import('#operations/retention.ts')
  return queryOwner<RetentionReport>(options, { name: 'retention', runInProcess: (context) => runRetention(context) })
}
