// What blocks of the simulated chain have since the Amsterdam fork: receipts with the logs of transfers, access lists, and
// their roots. Written without the code under test, on another library for RLP and keccak.
import { type Hex, keccak256, toRlp } from 'viem'
import type { SimulatedBlock, SimulatedTransaction } from '#simulator/evm/chain.ts'
import { hex, receiptJson } from '#simulator/evm/encode.ts'
import type { Frame } from '#simulator/evm/execute.ts'

const systemAddress = `0x${'f'.repeat(39)}e` as Hex
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
const gasPerTransaction = 21_000n

type RlpInput = Hex | RlpInput[]

const word = (value: bigint | string): Hex =>
  `0x${(typeof value === 'string' ? value.slice(2) : value.toString(16)).padStart(64, '0')}`
const minimal = (value: bigint | number): Hex => {
  const digits = BigInt(value) === 0n ? '' : value.toString(16)
  return `0x${digits.length % 2 === 0 ? digits : `0${digits}`}`
}

interface SimulatedLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
}

const transferring: readonly Frame['type'][] = ['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT']

/** The logs of a step and of those it calls. A contract that calls others also emits one like that of a token. */
function logsOf({ type, from, to, value, failed, calls }: Frame): SimulatedLog[] {
  if (failed) return []
  const topics = [transferTopic, word(from), word(to)] as const
  const isTransfer = transferring.includes(type) && value > 0n && from !== to
  return [
    ...(isTransfer ? [{ address: systemAddress, topics, data: word(value) }] : []),
    ...calls.flatMap(logsOf),
    ...(type === 'CALL' && calls.length > 0 ? [{ address: to as Hex, topics, data: word(value) }] : []),
  ]
}

/** Every type of transaction occurs. */
const typeOf = (at: number): number => at % 5

const emptyBloom = `0x${'0'.repeat(512)}` as Hex

const receipts = new WeakMap<SimulatedBlock, ReturnType<typeof createReceipts>>()

export const loggedReceiptsJson = (block: SimulatedBlock, omitted?: OmittedLogs) =>
  omitted ? createReceipts(block, omitted) : receipts.getOrInsertComputed(block, (block) => createReceipts(block))

/** Of the transfers of a chain that has access lists; `internal`: only those inside transactions. */
export type OmittedLogs = 'all' | 'internal'

function logsOfTransaction({ frame }: SimulatedTransaction, omitted: OmittedLogs | undefined): SimulatedLog[] {
  const logs = logsOf(frame)
  const [own] = logsOf({ ...frame, calls: [] })
  if (omitted === undefined) return logs
  return logs.filter((log, at) => log.address !== systemAddress || (omitted === 'internal' && own && at === 0))
}

function createReceipts(block: SimulatedBlock, omitted?: OmittedLogs) {
  let logIndex = 0
  return block.transactions.map((tx, at) => ({
    ...receiptJson(block, tx, at),
    type: hex(typeOf(at)),
    cumulativeGasUsed: hex(gasPerTransaction * BigInt(at + 1)),
    gasUsed: hex(gasPerTransaction),
    logsBloom: emptyBloom,
    logs: logsOfTransaction(tx, omitted).map((log) => ({
      ...log,
      blockHash: block.hash,
      blockNumber: hex(block.number),
      transactionHash: tx.hash,
      transactionIndex: hex(at),
      logIndex: hex(logIndex++),
      removed: false,
    })),
  }))
}

function encodeReceipt(tx: SimulatedTransaction, at: number, omitted: OmittedLogs | undefined): Hex {
  const logs = logsOfTransaction(tx, omitted).map(({ address, topics, data }): RlpInput => [address, [...topics], data])
  const body = toRlp([minimal(tx.frame.failed ? 0 : 1), minimal(gasPerTransaction * BigInt(at + 1)), emptyBloom, logs])
  return typeOf(at) === 0 ? body : `0x0${typeOf(at)}${body.slice(2)}`
}

type PathAndValue = readonly [path: string, value: Hex]

/** The root of a Merkle-Patricia trie, as the yellow paper defines it. */
export function rootOf(values: readonly Hex[]): Hex {
  if (values.length === 0) return keccak256(toRlp('0x'))
  return keccak256(toRlp(trieNode(values.map((value, at) => [toRlp(minimal(at)).slice(2), value]))))
}

function trieNode(entries: readonly PathAndValue[]): RlpInput {
  const [[path, value]] = entries as readonly [PathAndValue]
  if (entries.length === 1) return [compactPath(path, 2), value]
  const shared = [...path].findIndex((digit, at) => entries.some(([other]) => other[at] !== digit))
  if (shared > 0) {
    const below = trieNode(entries.map(([own, value]) => [own.slice(shared), value]))
    return [compactPath(path.slice(0, shared), 0), nodeReference(below)]
  }
  const children = [...'0123456789abcdef'].map((digit): RlpInput => {
    const below = entries.filter(([own]) => own[0] === digit).map(([own, value]): PathAndValue => [own.slice(1), value])
    return below.length === 0 ? '0x' : nodeReference(trieNode(below))
  })
  return [...children, '0x']
}

const compactPath = (path: string, flag: number): Hex =>
  path.length % 2 === 0 ? `0x${flag}0${path}` : `0x${flag + 1}${path}`

function nodeReference(node: RlpInput): RlpInput {
  const encoded = toRlp(node)
  return encoded.length - 2 < 64 ? node : keccak256(encoded)
}

/** Fields of the block. */
export const amsterdamFields = (block: SimulatedBlock, omitted?: OmittedLogs) =>
  omitted ? createFields(block, omitted) : fields.getOrInsertComputed(block, (block) => createFields(block))

const fields = new WeakMap<SimulatedBlock, ReturnType<typeof createFields>>()

const createFields = (block: SimulatedBlock, omitted?: OmittedLogs) => ({
  receiptsRoot: rootOf(block.transactions.map((tx, at) => encodeReceipt(tx, at, omitted))),
  withdrawalsRoot: rootOf(
    block.withdrawals.map(({ address, gwei }, at) => toRlp([minimal(at), minimal(at), address as Hex, minimal(gwei)])),
  ),
  blockAccessListHash: keccak256(toRlp(accessList(block).map(encodeAccess))),
})

/** Of a contract that keeps something, so that storage is in the list too. */
const storageSlot = 1n

function accessList({ changes = [] }: SimulatedBlock) {
  const byAddress = Map.groupBy(changes, ({ address }) => address)
  return [...byAddress.keys()].sort().map((address) => {
    const own = byAddress.get(address) ?? []
    const changed = (name: 'nonce' | 'balance' | 'code') =>
      own.filter(({ before, after }) => before[name] !== after[name])
    return {
      address,
      storage: changed('code').map(({ index }) => ({ index, value: BigInt(index) })),
      reads: changed('nonce').length > 0 ? [0n, 256n] : [],
      balances: changed('balance').map(({ index, after }) => ({ index, value: after.balance })),
      nonces: changed('nonce').map(({ index, after }) => ({ index, value: after.nonce })),
      codes: changed('code').map(({ index, after }) => ({ index, code: after.code })),
    }
  })
}

type Access = ReturnType<typeof accessList>[number]
const pairs = (all: readonly { readonly index: number; readonly value: bigint }[]): RlpInput =>
  all.map(({ index, value }) => [minimal(index), minimal(value)])

const encodeAccess = ({ address, storage, reads, balances, nonces, codes }: Access): RlpInput => [
  address as Hex,
  storage.length > 0 ? [[minimal(storageSlot), pairs(storage)]] : [],
  reads.map(minimal),
  pairs(balances),
  pairs(nonces),
  codes.map(({ index, code }) => [minimal(index), code as Hex]),
]

/** The result of eth_getBlockAccessList. */
export const accessListJson = (block: SimulatedBlock) =>
  accessList(block).map(({ address, storage, reads, balances, nonces, codes }) => ({
    address,
    storageChanges:
      storage.length > 0
        ? [
            {
              key: word(storageSlot),
              changes: storage.map(({ index, value }) => ({ index: hex(index), value: word(value) })),
            },
          ]
        : [],
    storageReads: reads.map(word),
    balanceChanges: balances.map(({ index, value }) => ({ index: hex(index), value: hex(value) })),
    nonceChanges: nonces.map(({ index, value }) => ({ index: hex(index), value: hex(value) })),
    codeChanges: codes.map(({ index, code }) => ({ index: hex(index), code })),
  }))
