// Data about a network: which chain its figures belong to, the length of the hours and days they were added up into,
// and the number of validators if only some are stored (watch list).
//
// Settings can change, but stored figures cannot: with another `epochsPerDay`, day 7 would mean other epochs than those
// stored as day 7. So the first commit stores these settings, and reads and writes with other settings are refused.
import type { Network } from '#api/contract/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { Fault } from '#core/fault.ts'
import type { ChainPins } from '#runtime/settings/chain-pins.ts'
import type { ChainIdentity } from '#sources/beacon/endpoint.ts'
import { putRow } from '#storage/put-row.ts'
import type { StateReader, StateWriter, Value } from '#storage/state.ts'
import { networkId, plainTime } from './layout.ts'

/** The columns of the chain are null until `writeChain`, those of hours and days until `keepWindows`. */
interface NetworkRow extends Record<keyof ChainTime | 'validators', number | null> {
  readonly genesisRoot: string | null
  readonly executionChainId: string | null
}

const rowOf = (duties: StateReader, network: Network): Promise<NetworkRow | undefined> =>
  duties.get<NetworkRow>(
    `select genesis_unix as "genesisUnix", genesis_root as "genesisRoot", slot_seconds as "slotSeconds",
       slots_per_epoch as "slotsPerEpoch", execution_chain_id as "executionChainId", epochs_per_hour as "epochsPerHour", epochs_per_day as "epochsPerDay", validators
     from duty_networks where network = ? and name = ?`,
    networkId(network),
    network,
  )

async function upsert(tx: StateWriter, network: Network, values: Record<string, Value>): Promise<void> {
  refuseOtherWindows(await describeSameId(tx, network))
  await putRow(tx, 'duty_networks', ['network'], { network: networkId(network), name: network, ...values })
}

/** Networks that have a row, also if they are not configured any more. */
export const storedNetworks = async (duties: StateReader): Promise<Network[]> =>
  (await duties.all<{ name: string }>('select name from duty_networks order by network')).map(({ name }) => name)

export const storedNetworkOf = async (duties: StateReader, id: number): Promise<Network | undefined> =>
  (await duties.get<{ name: string }>('select name from duty_networks where network = ?', id))?.name

/** Undefined unless another network with the same number is stored (core/network-id.ts). */
async function describeSameId(duties: StateReader, network: Network): Promise<string | undefined> {
  const stored = await storedNetworkOf(duties, networkId(network))
  if (stored === undefined || stored === network) return undefined
  return `the names ${network} and ${stored} have the same number in the database, which has data of ${stored}: choose another name for ${network}, or run: tetrad validators forget --network ${stored}`
}

// -------------------------------------------------------------------------------------------------------------------- chain

export async function storedChain(duties: StateReader, network: Network): Promise<ChainIdentity | undefined> {
  const row = await rowOf(duties, network)
  if (!row || row.genesisUnix === null) return undefined
  const { genesisUnix, genesisRoot, slotSeconds, slotsPerEpoch } = row as ChainIdentity
  const { executionChainId } = row
  return {
    genesisUnix,
    genesisRoot,
    slotSeconds,
    slotsPerEpoch,
    ...(executionChainId !== null && { executionChainId }),
  }
}

export const writeChain = (
  tx: StateWriter,
  { network, chain }: { readonly network: Network; readonly chain: ChainIdentity },
): Promise<void> =>
  upsert(tx, network, {
    genesis_unix: chain.genesisUnix,
    genesis_root: chain.genesisRoot,
    slot_seconds: chain.slotSeconds,
    slots_per_epoch: chain.slotsPerEpoch,
    execution_chain_id: chain.executionChainId ?? null,
  })

// ------------------------------------------------------------------------------------------------------------ hours and days

/** The hours and days of the stored figures; undefined: nothing is stored. */
export async function storedWindows(
  duties: StateReader,
  network: Network,
): Promise<Pick<ChainTime, 'epochsPerHour' | 'epochsPerDay'> | undefined> {
  const row = await rowOf(duties, network)
  if (!row || row.epochsPerDay === null) return undefined
  const { epochsPerHour, epochsPerDay } = row as ChainTime
  return { epochsPerHour, epochsPerDay }
}

/** Why the stored data must not be used with these settings; undefined: it may. */
export async function describeWindowsMismatch(
  duties: StateReader,
  network: Network,
  time: ChainTime & { readonly pins?: ChainPins },
): Promise<string | undefined> {
  const stored = await rowOf(duties, network)
  if (!stored) return describeSameId(duties, network)
  const pin = otherPins.find((name) => differs(stored[name], time.pins?.[name]))
  if (pin) {
    const setting = `validators.networks.${network}.${pin === 'executionChainId' ? 'execution.chainId' : pin}`
    return `${setting} is ${time.pins?.[pin]}, but the stored data is of a chain with ${stored[pin]}: correct it, or delete what is stored: tetrad validators forget --network ${network}`
  }
  if (stored.epochsPerDay === null) return undefined
  const mismatch = (['epochsPerHour', 'epochsPerDay'] as const).find((name) => stored[name] !== time[name])
  return (
    mismatch &&
    `validators.networks.${network}.${mismatch} is ${time[mismatch]}, but stored figures were added up by ${stored[mismatch]}: ` +
      `set it back, or delete what is stored: tetrad validators forget --network ${network}`
  )
}

const otherPins = ['genesisUnix', 'genesisRoot', 'slotSeconds', 'slotsPerEpoch', 'executionChainId'] as const

const differs = (stored: number | string | null, pinned: number | string | undefined): boolean =>
  stored !== null && pinned !== undefined && stored !== pinned

/** Call this before figures are written. */
export async function keepWindows(tx: StateWriter, network: Network, time: ChainTime): Promise<void> {
  refuseOtherWindows(await describeWindowsMismatch(tx, network, time))
  if ((await rowOf(tx, network))?.epochsPerDay != null) return
  await upsert(tx, network, { epochs_per_hour: time.epochsPerHour, epochs_per_day: time.epochsPerDay })
}

export function refuseOtherWindows(reason: string | undefined): void {
  if (reason !== undefined) throw new Fault('validators.windows_changed', { detail: reason })
}

/** The chain time that figures were stored with; undefined: unknown. */
export async function storedTime(duties: StateReader, network: Network): Promise<ChainTime | undefined> {
  const row = await rowOf(duties, network)
  return row && row.genesisUnix !== null && row.epochsPerDay !== null ? plainTime(row as ChainTime) : undefined
}

// --------------------------------------------------------------------------------------------------------------- validators

/** The number of validators of a network with a watch list, as of the last epoch that was read; undefined: unknown. */
export const validatorCount = async (duties: StateReader, network: Network): Promise<number | undefined> =>
  (await rowOf(duties, network))?.validators ?? undefined

/** Call this in the transaction of the figures. */
export async function writeCount(tx: StateWriter, network: Network, count: number): Promise<void> {
  if ((await validatorCount(tx, network)) !== count) await upsert(tx, network, { validators: count })
}
