// The registries on the chain of the demo: which withdrawal addresses are contracts of Rocket Pool, ether.fi, StakeWise and
// Lido stVaults, and a staking module of Lido with one operator and one key.
import {
  type Answer,
  decodeQuestions,
  encodeAnswers,
  type Question,
  selectorOf,
} from '#validators/entities/registries/contract-questions.ts'
import { registryContracts } from '#validators/entities/registries/known-contracts.ts'
import type { ContractCall, PubkeyOf } from '../beacon/execution.ts'
import { createSeededRandom } from '../seeded-random.ts'
import { depositorsOf } from './behaviour.ts'

/** The validators that a registry names, by pool. */
export const registryPools = {
  'Rocket Pool': [86, 87],
  'ether.fi': [88, 89],
  StakeWise: [91, 92],
  'Lido stVaults': [93, 94],
  Lido: [77],
} as const

/** What names the validator of Lido. */
export const lidoModule = { subpool: 'Curated', nodeOperators: ['Marram Validation'] } as const

const settings = {
  ...{ rocketStorage: '', eigenPodManager: '', etherFiStakingManager: '' },
  ...{ stakeWiseVaultsRegistry: '', lidoVaultFactory: '', lidoLocator: '' },
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
  const answerLido = createLidoCalls(contracts.lidoLocator ?? '', addressOf(lidoValidator))
  return async ({ to, data }: ContractCall, pubkeyOf: PubkeyOf): Promise<string | undefined> => {
    if (to !== undefined) return answerLido(to, data.slice(2, 10), pubkeyOf)
    const asked = decodeQuestions(data)
    return asked && encodeAnswers(asked.questions.map((question) => answer(asked.selector, question)))
  }
}

const [lidoValidator] = registryPools.Lido
const lidoRouter = `0x${'4e'.repeat(20)}`
const lidoContract = `0x${'4f'.repeat(20)}`

const word = (value: number | string): string => String(value).replace(/^0x/, '').padStart(64, '0')
/** Bytes as ABI has them: the length, then the bytes in whole words. */
const bytes = (hex: string): string =>
  word((hex.length / 2).toString(16)) + hex.padEnd(Math.ceil(hex.length / 64) * 64, '0')
const textHex = (text: string): string => Buffer.from(text).toString('hex')
/** A list or a tuple that begins with these words, and then has this. */
const words = (...values: readonly (number | string)[]): string => values.map(word).join('')

function createLidoCalls(locator: string, vault: string) {
  const { subpool, nodeOperators } = lidoModule
  const module =
    words(1, lidoContract, 0, 0, 0, 0, (15 * 32).toString(16), 0, 0, 0, 0, 0, 0, 1, 0) + bytes(textHex(subpool))
  const operator = words(1, (8 * 32).toString(16), 0, 0, 0, 0, 0, 1) + bytes(textHex(nodeOperators[0]))
  const replies: Readonly<Record<string, Readonly<Record<string, (pubkey: string) => string>>>> = {
    [locator]: { 'stakingRouter()': () => word(lidoRouter), 'withdrawalVault()': () => word(vault) },
    [lidoRouter]: { 'getStakingModules()': () => words(20, 1, 20) + module },
    [lidoContract]: {
      'getType()': () => textHex('curated-onchain-v1').padEnd(64, '0'),
      'getNonce()': () => word(1),
      'getNodeOperatorsCount()': () => word(1),
      'getNodeOperatorSummary(uint256)': () => words(0, 0, 0, 0, 0, 0, 1, 0),
      'getNodeOperator(uint256,bool)': () => operator,
      'getStakingModuleSummary()': () => words(0, 1, 0),
      'getSigningKeys(uint256,uint256,uint256)': (pubkey) => {
        const [key, signature] = [bytes(pubkey.slice(2)), bytes('ab'.repeat(96))]
        const signatureAt = 3 * 32 + key.length / 2
        const usedAt = signatureAt + signature.length / 2
        return words(60, signatureAt.toString(16), usedAt.toString(16)) + key + signature + words(1, 1)
      },
    },
  }
  return async (to: string, selector: string, pubkeyOf: PubkeyOf): Promise<string | undefined> => {
    const reply = Object.entries(replies[to] ?? {}).find(([signature]) => selectorOf(signature) === selector)?.[1]
    return reply && `0x${reply(await pubkeyOf(lidoValidator))}`
  }
}
