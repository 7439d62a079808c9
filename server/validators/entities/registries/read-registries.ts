// Asks the registries of the chain whom validators belong to. Their answers are rules, like those of a file
// (behaviour/validators.md#registries-on-the-chain).
//
// 1. A set of addresses is asked about as of one final block, which is not older than what is stored of the network: an
//    execution node that is behind does not know the contracts of the newest validators.
// 2. A set is stored only if the block is still final at the end, and all nodes that respond agree (final-contracts.ts).
// 3. A registry whose answer has another shape stops. The others continue.
import type { Network } from '#api/contract/wire/validators.ts'
import { type Epoch, epochStartMs } from '#core/chain-time.ts'
import { errorMessage } from '#core/error-message.ts'
import { networkSettings } from '#runtime/settings/validators.ts'
import type { Rpc } from '#sources/evm/rpc.ts'
import type { ValidatorsContext } from '../../context.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { storedChain } from '../../duties/networks.ts'
import { executionChainOf } from '../../network-rpc.ts'
import { applyRules } from '../apply-rules.ts'
import type { EntityRule, NamedEntity } from '../rules.ts'
import { type AddressRegistry, addressRegistries, Contracts, UnexpectedAnswer } from './address-registries.ts'
import {
  describeGoneState,
  type FinalBlock,
  type FinalContracts,
  isStateGone,
  openFinalContracts,
  RegistryContradiction,
} from './final-contracts.ts'
import { type RegistryContracts, registryContracts } from './known-contracts.ts'
import { lidoSource, readLido } from './read-lido.ts'
import {
  type AddressAnswer,
  type AskedAddress,
  nextAddresses,
  storeAddressAnswers,
  storeRegistryState,
  syncRegistries,
} from './registry-rows.ts'

type Context = Pick<ValidatorsContext, 'ingest' | 'duties' | 'settings'>

/** Addresses in one transaction. */
const addressesPerSet = 300
/** How often a set is asked again as of a newer block, because the node has dropped the state of the last one. */
const attemptsMax = 3

export interface RegistryProgress {
  readonly asked: number
  readonly changed: number
  /** Of registries that have stopped. */
  readonly problems: readonly string[]
}

/** Reads everything that is new. */
export async function readRegistries(
  context: Context,
  network: Network,
  rpc: Rpc,
  signal: AbortSignal,
): Promise<RegistryProgress> {
  const { ingest } = context
  const contracts = await contractsOf(context, network)
  const registries = addressRegistries.filter((registry) =>
    registry.contracts.every((name) => contracts[name] !== undefined),
  )
  const { lidoLocator } = contracts
  const configured = registries.map(({ id, bit, contracts: names }) => ({
    ...{ id, bit, contracts: names.map((name) => contracts[name]).join(' ') },
  }))
  if (lidoLocator !== undefined) configured.push({ id: lidoSource, bit: 0, contracts: lidoLocator })
  await syncRegistries(ingest, network, configured)
  const oldestUnix = await newestStoredUnix(context, network)
  const stopped = new Map<string, string>()
  // A process that was killed may have left pending validators.
  let [asked, changed] = [0, await applyRules(ingest, network, signal)]
  let block: FinalBlock | undefined
  let lidoBlock: FinalBlock | undefined
  try {
    while (!signal.aborted) {
      const active = registries.filter(({ id }) => !stopped.has(id))
      const bits = active.reduce((all, { bit }) => all | bit, 0)
      const addresses = bits === 0 ? [] : await nextAddresses(ingest, network, bits, addressesPerSet)
      if (addresses.length === 0) break
      const set = await askAboutSet(rpc, { addresses, registries: active, contracts, oldestUnix, stopped }, signal)
      block = set.block
      await storeAddressAnswers(ingest, network, addresses, set.answers)
      asked += addresses.length
      changed += await applyRules(ingest, network, signal)
    }
    if (lidoLocator !== undefined && !signal.aborted) {
      const lido = await atFinalBlock(
        rpc,
        oldestUnix,
        async (final) => ({
          block: final.block,
          problems: await readLido(ingest, network, final, lidoLocator, signal).catch(describeStop),
        }),
        signal,
      )
      if (lido.problems.length > 0) stopped.set(lidoSource, lido.problems.join('; '))
      lidoBlock = lido.block
      changed += await applyRules(ingest, network, signal)
    }
  } catch (error) {
    for (const { id } of configured)
      await storeRegistryState(ingest, network, { source: id, problem: stopped.get(id) ?? errorMessage(error) })
    throw error
  }
  for (const { id } of configured) {
    const problem = stopped.get(id) ?? null
    const complete = id === lidoSource ? lidoBlock : block
    await storeRegistryState(ingest, network, { source: id, problem }, problem === null ? complete : undefined)
  }
  return { asked, changed, problems: [...stopped].map(([id, problem]) => `${id}: ${problem}`) }
}

/** Rule 3. */
function describeStop(error: unknown): string[] {
  if (error instanceof UnexpectedAnswer || error instanceof RegistryContradiction) return [error.message]
  throw error
}

async function contractsOf({ duties, settings }: Context, network: Network): Promise<RegistryContracts> {
  const { entities, execution } = networkSettings(settings, network)
  return registryContracts(
    entities.registries,
    executionChainOf(network, execution, await storedChain(duties, network)),
  )
}

/** When the newest stored epoch of the network began; undefined: none is stored. */
async function newestStoredUnix({ duties }: Context, network: Network): Promise<number | undefined> {
  const [chain, covered] = await Promise.all([storedChain(duties, network), coveredEpochs(duties, network)])
  const until = covered.at(-1)?.until
  if (!chain || until === undefined) return undefined
  return epochStartMs(chain, (until - 1) as Epoch) / 1000
}

interface AddressSet {
  readonly addresses: readonly AskedAddress[]
  readonly registries: readonly AddressRegistry[]
  readonly contracts: RegistryContracts
  readonly oldestUnix: number | undefined
  /** Registries that do not answer as documented, and why. They are added here. */
  readonly stopped: Map<string, string>
}

const askAboutSet = (rpc: Rpc, set: AddressSet, signal: AbortSignal) =>
  atFinalBlock(
    rpc,
    set.oldestUnix,
    async (final) => {
      const answers = await askRegistries(final, set)
      await final.confirm()
      return { block: final.block, answers }
    },
    signal,
  )

/** Repeats the work as of a newer block if the node has dropped the state. */
async function atFinalBlock<T>(
  rpc: Rpc,
  oldestUnix: number | undefined,
  work: (final: FinalContracts) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      const final = await openFinalContracts(rpc, signal)
      requireNewer(final.block, oldestUnix)
      return await work(final)
    } catch (error) {
      if (!isStateGone(error)) throw error
      if (attempt >= attemptsMax) throw new Error(describeGoneState(error), { cause: error })
    }
  }
}

/** Rule 1. */
function requireNewer({ number, unix }: FinalBlock, oldestUnix: number | undefined): void {
  if (oldestUnix === undefined || unix >= oldestUnix) return
  const lateSeconds = oldestUnix - unix
  throw new Error(
    `the last final block of the execution node, ${number}, is ${lateSeconds} seconds older than the stored epochs: registries wait until it has caught up`,
  )
}

async function askRegistries(
  final: FinalContracts,
  { addresses, registries, contracts, stopped }: AddressSet,
): Promise<AddressAnswer[]> {
  const at = new Contracts(final, contracts)
  const answers: AddressAnswer[] = []
  for (const registry of registries) {
    const { id, bit } = registry
    const asked = addresses.filter((row) => (row.asked & bit) === 0).map(({ address }) => address)
    if (asked.length === 0) continue
    try {
      const named = await registry.identify(at, asked)
      const rules = [...named].map(([address, entity]) => ruleOf(address, entity))
      answers.push({ id, bit, asked, rules })
    } catch (error) {
      if (!(error instanceof UnexpectedAnswer)) throw error
      stopped.set(id, error.message)
    }
  }
  return answers
}

const ruleOf = (address: string, entity: Partial<NamedEntity>): EntityRule => ({
  ...{ selector: 'withdrawalAddress', value: address, days: undefined },
  ...{ pool: null, subpool: null, nodeOperators: null, dvtNetwork: null, dvtOperators: null },
  ...entity,
})
