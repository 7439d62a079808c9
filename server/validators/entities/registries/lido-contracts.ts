// Reads the staking modules of Lido: the modules of its StakingRouter, their operators, and pages of deposited keys.
import { type AbiReply, cleanName } from './abi-reply.ts'
import { UnexpectedAnswer } from './address-registries.ts'
import type { FinalContracts } from './final-contracts.ts'
import { RegistryContradiction } from './final-contracts.ts'

export interface LidoModule {
  readonly id: number
  readonly address: string
  readonly name: string
  /** Such as `curated-onchain-v1`. */
  readonly type: string
  readonly nonce: number
}

export interface LidoOperator {
  readonly id: number
  /** Empty: it has none. */
  readonly name: string
  /** Deposited keys never move and are never removed. */
  readonly deposited: number
}

export interface LidoContracts {
  readonly vault: string
  readonly modules: readonly LidoModule[]
}

/** How the keys of a type of module are returned, and where the names of its operators are. */
const moduleTypes = {
  'curated-onchain-v1': { hasSignatures: true, names: 'module' },
  'community-onchain-v1': { hasSignatures: false, names: 'none' },
  'curated-onchain-v2': { hasSignatures: false, names: 'meta registry' },
} as const

const typeOf = (type: string) =>
  Object.hasOwn(moduleTypes, type) ? moduleTypes[type as keyof typeof moduleTypes] : undefined

export const isKnownType = ({ type }: LidoModule): boolean => typeOf(type) !== undefined

/** More than any of these contracts has. */
const modulesMax = 64
const operatorsMax = 100_000
const keyBytes = 48
const signatureBytes = 96

function require<T>(value: T | undefined, contract: string, signature: string): T {
  if (value === undefined) throw new UnexpectedAnswer(`${contract} does not answer ${signature} as documented`)
  return value
}

async function read<T>(
  at: FinalContracts,
  contract: string,
  signature: string,
  args: readonly number[],
  decode: (reply: AbiReply) => T | undefined,
): Promise<T> {
  const reply = await at.read(contract, signature, args)
  return require(reply && decode(reply), contract, signature)
}

export async function readLidoContracts(at: FinalContracts, locator: string): Promise<LidoContracts> {
  const addressOf = (signature: string) =>
    read(at, locator, signature, [], (reply) => (reply.size === 32 ? reply.address(0) : undefined))
  const router = await addressOf('stakingRouter()')
  const vault = await addressOf('withdrawalVault()')
  const listed = await read(at, router, 'getStakingModules()', [], decodeModules)
  const modules: LidoModule[] = []
  for (const module of listed) {
    const type = await read(at, module.address, 'getType()', [], (reply) =>
      reply.size === 32 ? toText(reply) : undefined,
    )
    const nonce = await read(at, module.address, 'getNonce()', [], (reply) =>
      reply.size === 32 ? reply.number(0) : undefined,
    )
    modules.push({ ...module, type, nonce })
  }
  return { vault, modules }
}

const toText = (reply: AbiReply): string => cleanName(Buffer.from((reply.word(0) ?? '').replace(/(00)+$/, ''), 'hex'))

/** Fields that a later version adds at the end of a module do not matter. */
function decodeModules(reply: AbiReply): Pick<LidoModule, 'id' | 'address' | 'name'>[] | undefined {
  const list = reply.list(0, modulesMax)
  if (!list) return undefined
  const modules = Array.from({ length: list.count }, (_, index) => {
    const module = list.items.tuple(index)
    const [id, address, name] = [module?.number(0), module?.address(1), module?.bytes(6)]
    return id !== undefined && address !== undefined && name ? { id, address, name: cleanName(name) } : undefined
  })
  const read = modules.filter((module) => module !== undefined)
  return read.length === list.count ? read : undefined
}

/** All operators. Their keys add up to those of the module. */
export async function readOperators(at: FinalContracts, module: LidoModule): Promise<LidoOperator[]> {
  const { address, type } = module
  const names = typeOf(type)?.names
  const oneWord = (reply: AbiReply) => (reply.size === 32 ? reply.number(0) : undefined)
  const count = await read(at, address, 'getNodeOperatorsCount()', [], oneWord)
  if (count > operatorsMax) throw new UnexpectedAnswer(`${address} has ${count} operators`)
  const registry =
    names === 'meta registry'
      ? await read(at, address, 'META_REGISTRY()', [], (reply) => (reply.size === 32 ? reply.address(0) : undefined))
      : undefined
  const operators: LidoOperator[] = []
  for (let id = 0; id < count; id++) {
    const deposited = await read(at, address, 'getNodeOperatorSummary(uint256)', [id], (reply) =>
      reply.size === 8 * 32 ? reply.number(6) : undefined,
    )
    const name = registry
      ? await read(at, registry, 'getOperatorMetadata(uint256)', [id], (reply) => reply.tuple(0)?.bytes(0))
      : names === 'module'
        ? await read(at, address, 'getNodeOperator(uint256,bool)', [id, 1], (reply) => reply.bytes(1))
        : new Uint8Array()
    operators.push({ id, name: cleanName(name), deposited })
  }
  const total = await read(at, address, 'getStakingModuleSummary()', [], (reply) =>
    reply.size === 3 * 32 ? reply.number(1) : undefined,
  )
  const sum = operators.reduce((all, { deposited }) => all + deposited, 0)
  if (sum !== total)
    throw new RegistryContradiction(
      `the operators of ${module.name} have ${sum} deposited keys, the module says ${total}`,
    )
  return operators
}

/** Keys of an operator in the order of the module. Undefined: the node or the module refuses so many. */
export async function readKeys(
  at: FinalContracts,
  { address, type }: LidoModule,
  operator: number,
  from: number,
  count: number,
): Promise<string[] | undefined> {
  const signature = 'getSigningKeys(uint256,uint256,uint256)'
  const reply = await at.read(address, signature, [operator, from, count])
  if (!reply) return undefined
  const keys = require(reply.bytes(0), address, signature)
  if (keys.length !== count * keyBytes)
    throw new UnexpectedAnswer(`${address} returns another number of keys than requested`)
  if (typeOf(type)?.hasSignatures) {
    const used = reply.list(2, count)
    const areUsed = Array.from({ length: count }, (_, index) => used?.items.number(index)).every((flag) => flag === 1)
    if (reply.bytes(1)?.length !== count * signatureBytes || used?.count !== count || !areUsed)
      throw new UnexpectedAnswer(`${address} does not answer ${signature} as documented`)
  }
  return Array.from({ length: count }, (_, index) => {
    const key = keys.subarray(index * keyBytes, (index + 1) * keyBytes)
    return `0x${key.toString('hex')}`
  })
}
