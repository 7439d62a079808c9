// Collects what the processors of a network start with: its settings, its watch list, and the chain that its nodes must
// be on. Processors run on another thread, which has no context (open-processors.ts).

import { join } from 'node:path'
import type { Network } from '#api/contract/wire/validators.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { ValidatorsContext } from '../../context.ts'
import { readWatchNames } from '../../registry/watch-names.ts'
import { requiredChain } from '../read/chain-identity.ts'
import type { EpochProcessorStart } from './open-processors.ts'

/** The folder of the snapshots of states. */
export const statesDir = (dataDir: string, network: Network): string => join(dataDir, 'beacon', network, 'states')

/** `dataDir`: where snapshots of states are kept. Undefined: they are not. */
export async function readProcessorStart(
  context: Pick<ValidatorsContext, 'duties' | 'settings' | 'validators'>,
  network: Network,
  dataDir?: string,
) {
  const settings = networkSettings(context.settings, network)
  const { names } = await readWatchNames(context, network)
  const start: EpochProcessorStart = {
    network,
    settings: { ...settings, watch: [...names] },
    identity: await requiredChain(context, network),
    statesDir: dataDir === undefined ? undefined : statesDir(dataDir, network),
  }
  return start
}
