// The demo world's validators: three networks with sixty complete chain days of duties, acted out epoch by epoch from a
// seed and written through the functions that an ingester uses.
import { type Network, networks } from '#api/wire/validators.ts'
import { type ChainTime, chainDays, type Epoch, type Epochs } from '#core/chain-time.ts'
import { writeDuties } from '#groups/validators/duties.ts'
import {
  type DepositEntry,
  type EntityEntry,
  putDeposits,
  putEntities,
  putValidators,
} from '#groups/validators/registry.ts'
import type { Desk } from '#serve/answer.ts'
import { type Chance, chance } from './chance.ts'
import { actOut } from './validators/acting.ts'
import { type Actor, castOf } from './validators/cast.ts'

const daysActed = 60
/** Epochs of this many days are in memory at a time. */
const daysPerBatch = 30

export const validatorCounts: Readonly<Record<Network, number>> = { mainnet: 64, hoodi: 12, holesky: 12 }
/** The one without an execution source, so that unknown amounts are there to see. */
const withoutExecution: Network = 'holesky'

const pools = [
  { pool: 'Lantern Pool', subpool: 'Lantern North', operators: ['Fjord Nodes', 'Basalt Systems'] },
  { pool: 'Lantern Pool', subpool: 'Lantern South', operators: ['Cedar Validation'] },
  { pool: 'Harbour Staking', subpool: null, operators: ['Harbour Operations'] },
  { pool: 'Meadow Collective', subpool: 'Meadow Home', operators: ['Heron House', 'Willow Rack', 'Otter Lab'] },
] as const
const dvtNetworks = ['Braid', 'Weft'] as const

/** Fills registry and duties. The samples are validators of the default network that have records. */
export async function loadValidators(
  { state, facts, settings, clock }: Pick<Desk, 'state' | 'facts' | 'settings' | 'clock'>,
  seed: string,
): Promise<{ indices: number[]; pubkeys: string[] }> {
  const draws = chance(seed).fork('validators')
  let samples: Actor[] = []
  for (const network of networks) {
    const time = settings.validators.networks[network]
    const epochs = actedEpochs(time, clock.now())
    const cast = castOf(draws.fork(`${network}/cast`), validatorCounts[network], epochs)
    await putRegistry({ state, clock }, network, cast, draws.fork(`${network}/entities`))
    for (const batch of batchesOf(time, epochs, cast, draws.fork(network), network !== withoutExecution)) {
      await writeDuties(facts, { network, time, ...batch })
    }
    if (network === networks[0]) samples = cast.slice(0, 5)
  }
  return { indices: samples.map(({ index }) => index), pubkeys: samples.map(({ pubkey }) => pubkey) }
}

/** The last sixty chain days that are over. */
function actedEpochs(time: ChainTime, nowMs: number): Epochs {
  const line = chainDays(time)
  const until = Math.max(0, line.dayAt(nowMs))
  const from = Math.max(0, until - daysActed)
  return { from: line.epochsOf(from as never).from, until: line.epochsOf(until as never).from }
}

function* batchesOf(time: ChainTime, epochs: Epochs, cast: readonly Actor[], draws: Chance, hasExecution: boolean) {
  const streams = cast.map(({ index }) => draws.fork(String(index)))
  const step = daysPerBatch * time.epochsPerDay
  for (let from = epochs.from; from < epochs.until; from = (from + step) as Epoch) {
    const batch = { from, until: Math.min(from + step, epochs.until) as Epoch }
    yield { epochs: batch, rows: actOut({ hasExecution, slotsPerEpoch: time.slotsPerEpoch }, cast, streams, batch) }
  }
}

async function putRegistry(
  { state, clock }: Pick<Desk, 'state' | 'clock'>,
  network: Network,
  cast: readonly Actor[],
  draws: Chance,
): Promise<void> {
  const entries = cast.map((actor, place) => ({
    index: actor.index,
    pubkey: actor.pubkey,
    activationEligibilityEpoch: actor.eligibleEpoch,
    activationEpoch: actor.activationEpoch,
    exitEpoch: actor.exitEpoch,
    withdrawableEpoch: actor.withdrawableEpoch,
    // Every seventh still has the credentials of the first days, which name no address.
    withdrawalAddress: place % 7 === 6 ? null : `0x${draws.hex(40)}`,
  }))
  await putValidators(state, network, entries)
  await putDeposits(
    state,
    network,
    cast.flatMap((actor, place) => depositsOf(actor, place, draws)),
  )
  await putEntities(
    state,
    network,
    cast.flatMap((actor, place) => entityOf(actor, place, draws)),
    clock.now(),
  )
}

/** Every fifth has none that is known, every ninth was paid for by two. */
function depositsOf({ index }: Actor, place: number, draws: Chance): DepositEntry[] {
  const count = place % 5 === 4 ? 0 : place % 9 === 8 ? 2 : 1
  return Array.from({ length: count }, () => ({ index, address: `0x${draws.hex(40)}` }))
}

/** Every fourth belongs to nobody that is known. */
function entityOf({ index }: Actor, place: number, draws: Chance): EntityEntry[] {
  if (place % 4 === 3) return []
  const { pool, subpool, operators } = draws.pick(pools)
  const isShared = place % 6 === 1
  return [
    {
      index,
      pool,
      subpool,
      dvtNetwork: isShared ? draws.pick(dvtNetworks) : null,
      nodeOperators: isShared ? operators : [draws.pick(operators)],
      dvtOperators: isShared ? operators.map((name) => `${name} cluster`) : [],
      source: 'demo',
    },
  ]
}
