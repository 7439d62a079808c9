// `tetrad validators forget`: deletes everything that is stored of a network.
import type { Command } from 'commander'
import { namedNetworkOption } from './beacon.ts'
import { confirm } from './confirm.ts'
import { withContext } from './data-owner.ts'
import { CommandFailure } from './failure.ts'
import { type LeaseOptions, runWithLease, waitOption } from './lease.ts'
import { counted, print, printJson } from './print.ts'
import { clock, log } from './runtime.ts'
import { type CommonOptions, dataDirOf } from './settings.ts'
import { stopSignal } from './stop.ts'

interface Options extends CommonOptions, LeaseOptions {
  readonly network: string
  readonly yes?: boolean
}

export function addForget(validators: Command): void {
  validators
    .command('forget')
    .description(
      'Delete everything that is stored of a network, for example after its chain has started again with another genesis. Stop the server first.',
    )
    .addOption(namedNetworkOption('name of the network').makeOptionMandatory())
    .option('--yes', 'do not ask')
    .option(...waitOption)
    .action((_: unknown, command: Command) => forget(command.optsWithGlobals()))
}

async function forget(options: Options): Promise<void> {
  const { network, yes = false, json = false } = options
  const signal = stopSignal(clock)
  const rows = await withContext(
    options,
    async (context) => {
      const [{ storedNetworks }, { forgetNetwork }] = await Promise.all([
        import('#validators/duties/networks.ts'),
        import('#validators/forget-network.ts'),
      ])
      const stored = await storedNetworks(context.duties)
      if (!stored.includes(network)) {
        const known = stored.length === 0 ? 'Nothing is stored of any network' : `Stored are: ${stored.join(', ')}`
        throw new CommandFailure('network.not_stored', `Nothing is stored of ${network}. ${known}.`)
      }
      if (!yes) await confirm('forget', `Delete everything that is stored of ${network}?`, signal)
      let deleted = 0
      const work = async (leased: typeof context) => {
        deleted = await forgetNetwork(leased, network, dataDirOf(options))
      }
      await runWithLease(context, options, 'beacon', work, signal)
      return deleted
    },
    log,
  )
  if (json) return printJson({ network, rows })
  print(`${network}: ${counted(rows, 'row')} deleted. The next start reads the network from its nodes again.`)
}
