// Asks the registries of a network while a server runs, under a lease of its own: `entities:<network>`.
import type { Network } from '#api/contract/wire/validators.ts'
import { logOutcome, poll } from '#ingest/poll.ts'
import { networkSettings, networksOf } from '#runtime/settings/validators.ts'
import type { Rpc } from '#sources/evm/rpc.ts'
import type { ValidatorsContext } from '../../context.ts'
import { storedChain } from '../../duties/networks.ts'
import { openNetworkRpc } from '../../network-rpc.ts'
import { type RegistryProgress, readRegistries } from './read-registries.ts'

const everyMs = 60_000
/** The first pass asks about every validator. Single requests have their own time limit. */
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000

/** The networks with registries that can be asked, or labels that name pools. */
export const entityNetworks = (context: Pick<ValidatorsContext, 'settings'>): Network[] =>
  context.settings.groups.validators.enabled
    ? networksOf(context.settings).filter((network) => {
        const { execution, entities } = networkSettings(context.settings, network)
        return execution.rpc.length > 0 || entities.fromLabels
      })
    : []

export async function openRegistryRpc(
  { duties, settings, clock }: Pick<ValidatorsContext, 'duties' | 'settings' | 'clock'>,
  network: Network,
): Promise<Rpc> {
  const chain = await storedChain(duties, network)
  return openNetworkRpc(network, networkSettings(settings, network).execution, chain ?? {}, clock)
}

export async function followRegistries(
  context: ValidatorsContext,
  network: Network,
  signal: AbortSignal,
): Promise<void> {
  if (networkSettings(context.settings, network).execution.rpc.length === 0) return
  let rpc: Rpc | undefined
  let logged = ''
  await poll<RegistryProgress>(
    context,
    {
      ...{ everyMs, timeoutMs: attemptMs, backoffMaxMs },
      work: async (stop) => {
        rpc ??= await openRegistryRpc(context, network)
        return readRegistries(context, network, rpc, stop)
      },
      report: (outcome) => {
        const texts = {
          failed: 'registries of validators could not be read',
          recovered: 'registries of validators are readable again',
        }
        logOutcome(context, outcome, { network }, texts)
        if (outcome.is !== 'done') return
        const { asked, changed, problems } = outcome.value
        if (asked + changed > 0) context.log.info({ network, asked, changed }, 'registries asked')
        if (problems.length > 0 && problems.join() !== logged)
          context.log.warn(
            { network, problems },
            'registries of validators have stopped; what they named stays in force',
          )
        logged = problems.join()
      },
    },
    signal,
  )
}
