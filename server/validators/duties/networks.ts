// What is known of a network as a whole: which chain its figures are about, which hours and days they were added up into, and how many
// validators there are where only some are kept.
//
// Settings can be changed, stored figures cannot: with another `epochsPerDay`, day 7 would be other epochs than those whose sums are stored as
// day 7. So the first commit stores what it was made with, and nothing is read or added with anything else.
import type { Network } from '#api/wire/validators.ts'
import type { ChainTime } from '#core/chain-time.ts'
import { Fault } from '#core/fault.ts'
import type { ChainIdentity } from '#sources/beacon/client.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'
import { networkId } from './layout.ts'

interface NetworkRow {
  readonly genesis_unix: number | null
  readonly genesis_root: string | null
  readonly slot_seconds: number | null
  readonly slots_per_epoch: number | null
  readonly epochs_per_hour: number | null
  readonly epochs_per_day: number | null
  readonly validators: number | null
}

const rowOf = (duties: StateReader, network: Network): Promise<NetworkRow | undefined> =>
  duties.get<NetworkRow>(
    `select genesis_unix, genesis_root, slot_seconds, slots_per_epoch, epochs_per_hour, epochs_per_day, validators
     from duty_networks where network = ?`,
    networkId(network),
  )

async function put(tx: StateWriter, network: Network, values: Partial<NetworkRow>): Promise<void> {
  const names = Object.keys(values)
  await tx.run(
    `insert into duty_networks (network, ${names.join()}) values (?, ${names.map(() => '?').join()})
     on conflict (network) do update set ${names.map((name) => `${name} = excluded.${name}`).join()}`,
    networkId(network),
    ...Object.values(values),
  )
}

// -------------------------------------------------------------------------------------------------------------------- chain

export async function storedChain(duties: StateReader, network: Network): Promise<ChainIdentity | undefined> {
  const row = await rowOf(duties, network)
  if (!row || row.genesis_unix === null) return undefined
  return {
    genesisUnix: row.genesis_unix,
    genesisRoot: row.genesis_root ?? '',
    slotSeconds: row.slot_seconds ?? 0,
    slotsPerEpoch: row.slots_per_epoch ?? 0,
  }
}

export const writeChain = (
  tx: StateWriter,
  { network, chain }: { readonly network: Network; readonly chain: ChainIdentity },
): Promise<void> =>
  put(tx, network, {
    genesis_unix: chain.genesisUnix,
    genesis_root: chain.genesisRoot,
    slot_seconds: chain.slotSeconds,
    slots_per_epoch: chain.slotsPerEpoch,
  })

// ------------------------------------------------------------------------------------------------------------ hours and days

/** Why these figures must not be read or added to with this chain time; undefined: they may. */
export async function describeWindowsMismatch(
  duties: StateReader,
  network: Network,
  time: ChainTime,
): Promise<string | undefined> {
  const row = await rowOf(duties, network)
  if (!row || row.epochs_per_hour === null || row.epochs_per_day === null) return undefined
  const stored = { epochsPerHour: row.epochs_per_hour, epochsPerDay: row.epochs_per_day }
  const mismatch = (['epochsPerHour', 'epochsPerDay'] as const).find((name) => stored[name] !== time[name])
  return (
    mismatch &&
    `validators.networks.${network}.${mismatch} is ${time[mismatch]}, but what is stored was added up by ${stored[mismatch]}: ` +
      'set it back, or start with a new data folder'
  )
}

/** Before figures are written. */
export async function keepWindows(tx: StateWriter, network: Network, time: ChainTime): Promise<void> {
  refuseOtherWindows(await describeWindowsMismatch(tx, network, time))
  if ((await rowOf(tx, network))?.epochs_per_day != null) return
  await put(tx, network, { epochs_per_hour: time.epochsPerHour, epochs_per_day: time.epochsPerDay })
}

export function refuseOtherWindows(trouble: string | undefined): void {
  if (trouble !== undefined) throw new Fault('validators.windows_changed', { detail: trouble })
}

/** The chain time that figures were stored with; undefined: not known. */
export async function storedTime(duties: StateReader, network: Network): Promise<ChainTime | undefined> {
  const [row, chain] = [await rowOf(duties, network), await storedChain(duties, network)]
  if (!row || !chain || row.epochs_per_hour === null || row.epochs_per_day === null) return undefined
  const { genesisUnix, slotSeconds, slotsPerEpoch } = chain
  return {
    genesisUnix,
    slotSeconds,
    slotsPerEpoch,
    epochsPerHour: row.epochs_per_hour,
    epochsPerDay: row.epochs_per_day,
  }
}

// --------------------------------------------------------------------------------------------------------------- validators

/** How many validators a network with a watch list has, as of the last epoch that was read; undefined: not known. */
export const validatorCount = async (duties: StateReader, network: Network): Promise<number | undefined> =>
  (await rowOf(duties, network))?.validators ?? undefined

/** In the transaction of the figures. */
export async function writeCount(tx: StateWriter, network: Network, count: number): Promise<void> {
  if ((await validatorCount(tx, network)) !== count) await put(tx, network, { validators: count })
}
