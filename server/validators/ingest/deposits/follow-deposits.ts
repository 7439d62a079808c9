// Reads the deposits of a network while a server runs.

import type { Network } from '#api/contract/wire/validators.ts'
import { poll } from '#ingest/poll.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import type { ValidatorsContext } from '../../context.ts'
import { openNetworkRpc } from '../../network-rpc.ts'
import type { EpochProcessor } from '../epochs/epoch-processor.ts'
import { outcomeLogger } from '../status/log-outcomes.ts'
import { createDepositReader } from './deposits.ts'

const everyMs = 60_000
/** The first catch-up may take days. Single requests have their own time limit. */
const attemptMs = 7 * 86_400_000
const backoffMaxMs = 60_000

export async function followDeposits(
  context: ValidatorsContext,
  network: Network,
  processor: EpochProcessor,
  signal: AbortSignal,
): Promise<void> {
  if (networkSettings(context.settings, network).execution.rpc.length === 0) return
  let reader: ReturnType<typeof openDepositReader> | undefined
  await poll(
    context,
    {
      everyMs,
      timeoutMs: attemptMs,
      backoffMaxMs,
      work: async (stop) => {
        reader ??= openDepositReader(context, network, await processor.chain(stop))
        return reader.catchUp(stop)
      },
      report: outcomeLogger(context, network, 'deposit contract'),
    },
    signal,
  )
}

/** The deposit contract is the one that the beacon node reports. */
export function openDepositReader(
  { ingest, settings, clock }: Pick<ValidatorsContext, 'ingest' | 'settings' | 'clock'>,
  network: Network,
  { deposits, identity }: Chain,
) {
  const { execution } = networkSettings(settings, network)
  if (!deposits) throw new Error(`${network}: the beacon node does not report the deposit contract in config/spec`)
  const rpc = openNetworkRpc(network, execution, identity, clock)
  if (execution.chainId !== '' && deposits.chainId !== execution.chainId) {
    const setting = `validators.networks.${network}.execution.chainId`
    throw new Error(
      `${network}: the deposit contract is on chain ${deposits.chainId}, not ${execution.chainId}; correct ${setting}`,
    )
  }
  return createDepositReader(ingest, network, rpc, deposits.contract)
}
