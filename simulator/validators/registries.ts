// The registries on the chain of the demo: which withdrawal addresses are contracts of Rocket Pool, ether.fi, StakeWise and
// Lido stVaults.
import {
  type Answer,
  decodeQuestions,
  encodeAnswers,
  type Question,
  selectorOf,
} from '#validators/entities/registries/contract-questions.ts'
import { registryContracts } from '#validators/entities/registries/known-contracts.ts'
import { createSeededRandom } from '../seeded-random.ts'
import { depositorsOf } from './behaviour.ts'

/** The validators that a registry names, by pool. */
export const registryPools = {
  'Rocket Pool': [86, 87],
  'ether.fi': [88, 89],
  StakeWise: [91, 92],
  'Lido stVaults': [93, 94],
} as const

const settings = {
  ...{ rocketStorage: '', eigenPodManager: '', etherFiStakingManager: '' },
  ...{ stakeWiseVaultsRegistry: '', lidoVaultFactory: '' },
}
const minipoolManager = `0x${'4d'.repeat(20)}`

/** The replies of an execution node to eth_call. */
export function createRegistryCalls(accounts: readonly string[]) {
  const draws = createSeededRandom('registries')
  const [node, etherFiNode, operator] = [0, 1, 2].map(() => `0x${draws.hex(40)}`) as [string, string, string]
  const contracts = registryContracts(settings, '1')
  const addressOf = depositorsOf(accounts)
  const addressesOf = (pool: keyof typeof registryPools) => registryPools[pool].map((index) => addressOf(index))
  const pods = addressesOf('ether.fi')
  const owners = new Map(pods.map((pod, at) => [pod, `0x${String(at).padStart(2, '0')}${etherFiNode.slice(4)}`]))
  const isIn = (pool: keyof typeof registryPools) => (address: string) =>
    addressesOf(pool).includes(address) ? '1' : '0'
  type Reply = (argument: string) => string
  const functions: Readonly<Record<string, Readonly<Record<string, Reply>>>> = {
    [contracts.rocketStorage ?? '']: {
      'getAddress(bytes32)': () => minipoolManager,
      'getBool(bytes32)': () => '0',
    },
    [minipoolManager]: { 'getMinipoolExists(address)': isIn('Rocket Pool') },
    [contracts.eigenPodManager ?? '']: {
      'ownerToPod(address)': (owner) => pods.find((pod) => owners.get(pod) === owner) ?? '0',
    },
    [contracts.etherFiStakingManager ?? '']: {
      'deployedEtherFiNodes(address)': (address) => ([...owners.values()].includes(address) ? '1' : '0'),
    },
    [contracts.stakeWiseVaultsRegistry ?? '']: { 'vaults(address)': isIn('StakeWise') },
    [contracts.lidoVaultFactory ?? '']: { 'deployedVaults(address)': isIn('Lido stVaults') },
    ...Object.fromEntries([
      ...addressesOf('Rocket Pool').map((pool) => [pool, { 'getNodeAddress()': () => node }]),
      ...pods.map((pod) => [pod, { 'podOwner()': () => owners.get(pod) ?? '0' }]),
      ...addressesOf('Lido stVaults').map((vault) => [vault, { 'nodeOperator()': () => operator }]),
    ]),
  }
  const answer = (selector: string, { to, argument = '' }: Question): Answer | undefined => {
    const contract = functions[to]
    if (!contract) return { size: 0, word: '0' }
    const reply = Object.entries(contract).find(([signature]) => selectorOf(signature) === selector)?.[1]
    return reply && { size: 32, word: reply(`0x${argument.slice(-40)}`) }
  }
  return ({ data }: { readonly data: string }): string | undefined => {
    const asked = decodeQuestions(data)
    return asked && encodeAnswers(asked.questions.map((question) => answer(asked.selector, question)))
  }
}
