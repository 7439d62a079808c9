// The registries that know a withdrawal address: each validator of theirs withdraws to a contract of its own, or of its node
// or vault. The withdrawal address proves who receives the money, so nobody can claim a foreign validator.
//
// 1. A registry is asked first. The contract at a withdrawal address is asked only about what its registry confirms, because
//    anybody can write such a contract.
// 2. A registry whose answer has another shape is not asked any further: `UnexpectedAnswer`.
import { keccak256 } from '#sources/evm/keccak256.ts'
import type { NamedEntity } from '../rules.ts'
import { type Answer, type Question, selectorOf } from './contract-questions.ts'
import type { FinalContracts } from './final-contracts.ts'
import type { ContractName, RegistryContracts } from './known-contracts.ts'

export interface AddressRegistry {
  /** The source of its rules. */
  readonly id: string
  /** Its place in `withdrawal_addresses.asked`, which never changes. */
  readonly bit: number
  readonly contracts: readonly ContractName[]
  /** What it names those of these addresses that it knows. */
  identify(at: Contracts, addresses: readonly string[]): Promise<ReadonlyMap<string, Partial<NamedEntity>>>
}

/** The contract does not answer as documented. */
export class UnexpectedAnswer extends Error {
  override readonly name = 'UnexpectedAnswer'
}

/** Typed questions to the contracts of the registries. */
export class Contracts {
  readonly #at: FinalContracts
  readonly #addresses: RegistryContracts

  constructor(at: FinalContracts, addresses: RegistryContracts) {
    this.#at = at
    this.#addresses = addresses
  }

  addressOf(name: ContractName): string {
    return this.#addresses[name] ?? zeroAddress
  }

  /** Those of these arguments for which a function of a registry returns true. */
  async select(contract: string, signature: string, args: readonly string[], argumentOf = (of: string) => of) {
    const words = await this.#askRegistry(
      signature,
      args.map((of) => ({ to: contract, argument: argumentOf(of) })),
    )
    return args.filter((_, at) => {
      if (!/^0{63}[01]$/.test(words[at] ?? '')) throw unexpected(contract, signature)
      return words[at]?.endsWith('1')
    })
  }

  /** The addresses that a function of a registry returns; it may be the zero address. */
  async addresses(contract: string, signature: string, args: readonly string[]): Promise<string[]> {
    const words = await this.#askRegistry(
      signature,
      args.map((argument) => ({ to: contract, argument })),
    )
    return words.map((word) => toAddress(word) ?? fail(unexpected(contract, signature)))
  }

  /** The address that each of these contracts returns, if it does. They may be of anybody. */
  async addressesOf(contracts: readonly string[], signature: string): Promise<(string | undefined)[]> {
    const answers = await this.#at.ask(
      selectorOf(signature),
      contracts.map((to) => ({ to })),
    )
    return answers.map((answer) => (answer?.size === 32 ? toAddress(answer.word) : undefined))
  }

  async #askRegistry(signature: string, questions: readonly Question[]): Promise<string[]> {
    const answers = await this.#at.ask(selectorOf(signature), questions)
    return answers.map((answer, at) => wordIn(answer, (questions[at] as Question).to, signature))
  }
}

function wordIn(answer: Answer | undefined, contract: string, signature: string): string {
  if (answer?.size === 32) return answer.word
  if (answer?.size === 0) throw new UnexpectedAnswer(`there is no contract at ${contract}, or it has no ${signature}`)
  throw unexpected(contract, signature)
}

const unexpected = (contract: string, signature: string) =>
  new UnexpectedAnswer(`${contract} does not answer ${signature} as documented`)

function fail(error: Error): never {
  throw error
}

const zeroAddress = `0x${'0'.repeat(40)}`
const toAddress = (word: string): string | undefined => (/^0{24}/.test(word) ? `0x${word.slice(24)}` : undefined)

/** The key of a value in RocketStorage: the hash of the packed bytes. */
const storageKey = (text: string, address = ''): string =>
  keccak256(Buffer.concat([Buffer.from(text), Buffer.from(address.slice(2), 'hex')]))

const rocketPool: AddressRegistry = {
  id: 'rocket-pool',
  bit: 1,
  contracts: ['rocketStorage'],
  async identify(at, addresses) {
    const storage = at.addressOf('rocketStorage')
    const managerKey = storageKey('contract.addressrocketMinipoolManager')
    // An upgrade replaces it, so it is looked up each time.
    const [manager = zeroAddress] = await at.addresses(storage, 'getAddress(bytes32)', [managerKey])
    const minipools = manager === zeroAddress ? [] : await at.select(manager, 'getMinipoolExists(address)', addresses)
    const isMegapool = (address: string) => storageKey('megapool.exists', address)
    const megapools = await at.select(storage, 'getBool(bytes32)', addresses, isMegapool)
    const pools = [...new Set([...minipools, ...megapools])]
    const nodes = await at.addressesOf(pools, 'getNodeAddress()')
    return new Map(
      pools.map((pool, index) => {
        const node = nodes[index]
        const isNamed = node !== undefined && node !== zeroAddress
        return [pool, { pool: 'Rocket Pool', ...(isNamed && { nodeOperators: [node] }) }]
      }),
    )
  },
}

/** Validators that withdraw to a node of ether.fi, or to the EigenLayer pod of one. */
const etherFi: AddressRegistry = {
  id: 'ether-fi',
  bit: 2,
  contracts: ['etherFiStakingManager', 'eigenPodManager'],
  async identify(at, addresses) {
    const owners = await readPodOwners(at, addresses)
    const nodes = [...new Set([...addresses, ...owners.values()])]
    const isNode = new Set(
      await at.select(at.addressOf('etherFiStakingManager'), 'deployedEtherFiNodes(address)', nodes),
    )
    const own = addresses.filter((address) => isNode.has(address) || isNode.has(owners.get(address) ?? ''))
    return new Map(own.map((address) => [address, { pool: 'ether.fi' }]))
  },
}

/** By pod. Its manager confirms the owner, because any contract can name one. */
async function readPodOwners(at: Contracts, addresses: readonly string[]): Promise<Map<string, string>> {
  const claimed = await at.addressesOf(addresses, 'podOwner()')
  const claims = addresses.flatMap((pod, index) => {
    const owner = claimed[index]
    return owner === undefined || owner === zeroAddress ? [] : [[pod, owner] as const]
  })
  const owners = claims.map(([, owner]) => owner)
  const pods = await at.addresses(at.addressOf('eigenPodManager'), 'ownerToPod(address)', owners)
  return new Map(claims.filter(([pod], index) => pods[index] === pod))
}

/** The name of a vault is not on the chain, so its address is the subpool. */
const stakeWise: AddressRegistry = {
  id: 'stakewise',
  bit: 4,
  contracts: ['stakeWiseVaultsRegistry'],
  async identify(at, addresses) {
    const vaults = await at.select(at.addressOf('stakeWiseVaultsRegistry'), 'vaults(address)', addresses)
    return new Map(vaults.map((vault) => [vault, { pool: 'StakeWise', subpool: vault }]))
  },
}

const lidoVaults: AddressRegistry = {
  id: 'lido-stvaults',
  bit: 8,
  contracts: ['lidoVaultFactory'],
  async identify(at, addresses) {
    const vaults = await at.select(at.addressOf('lidoVaultFactory'), 'deployedVaults(address)', addresses)
    const operators = await at.addressesOf(vaults, 'nodeOperator()')
    return new Map(
      vaults.map((vault, index) => {
        const operator = operators[index]
        const isNamed = operator !== undefined && operator !== zeroAddress
        return [vault, { pool: 'Lido stVaults', subpool: vault, ...(isNamed && { nodeOperators: [operator] }) }]
      }),
    )
  },
}

export const addressRegistries: readonly AddressRegistry[] = [rocketPool, etherFi, stakeWise, lidoVaults]
