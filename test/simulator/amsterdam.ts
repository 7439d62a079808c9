// What blocks of the simulated chain have since the Amsterdam fork: receipts with the logs of transfers, access lists,
// their roots, and a header that has the hash of the block. Written without the code under test, on another library for
// RLP and keccak.
import { type Hex, keccak256, toRlp } from 'viem'
import {
  type SimulatedBlock,
  SimulatedChain,
  type SimulatedChainOptions,
  type SimulatedTransaction,
  type UnhashedBlock,
} from '#simulator/evm/chain.ts'
import { blockJson, hex, receiptJson } from '#simulator/evm/encode.ts'
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

/** Transfers whose logs are missing; `internal`: only those inside transactions. */
export type OmittedLogs = 'all' | 'internal'

export interface AmsterdamOptions {
  /** Receipts lack logs of transfers, and have the root of the header nevertheless. */
  readonly omitsLogs?: OmittedLogs
  /** Additional logs of tokens in a transaction that succeeds, by its position in the block. */
  readonly tokenLogs?: (txIndex: number) => number
  /** Headers have a field more than is known. */
  readonly hasNewField?: boolean
}

const chains = new WeakMap<SimulatedChain, AmsterdamChain>()

/** A chain with the fork, from `amsterdamFrom` on. */
export function createAmsterdamChain(options: SimulatedChainOptions, amsterdam: AmsterdamOptions = {}): SimulatedChain {
  const content = new AmsterdamChain(amsterdam)
  const chain = new SimulatedChain({ ...options, hashOf: (block) => content.hashOf(block) })
  chains.set(chain, content)
  return chain
}

/** What the blocks of a chain have since the fork. */
export function amsterdamOf(chain: SimulatedChain): AmsterdamChain {
  const content = chains.get(chain)
  if (!content) throw new Error('a chain with the fork is made by createAmsterdamChain')
  return content
}

type HeaderFields = Readonly<Record<string, Hex>>

class AmsterdamChain {
  readonly #options: AmsterdamOptions
  readonly #headers = new Map<string, HeaderFields>()
  readonly #receipts = new WeakMap<SimulatedBlock, ReturnType<AmsterdamChain['receiptsJson']>>()

  constructor(options: AmsterdamOptions) {
    this.#options = options
  }

  hashOf(block: UnhashedBlock): Hex {
    const header = this.#createHeader(block)
    const hash = keccak256(toRlp(headerFields.flatMap((name) => encodeField(name, header[name]))))
    this.#headers.set(hash, header)
    return hash
  }

  headerJson({ hash }: SimulatedBlock): HeaderFields {
    return this.#headers.get(hash) as HeaderFields
  }

  #createHeader(block: UnhashedBlock): HeaderFields {
    const { number, parentHash, timestamp, miner, transactionsRoot } = blockJson({ ...block, hash: '' }, false)
    return {
      ...({ number, parentHash, timestamp, miner, transactionsRoot } as HeaderFields),
      sha3Uncles: '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347',
      stateRoot: keccak256(toRlp(parentHash as Hex)),
      receiptsRoot: rootOf(block.transactions.map((tx, at) => this.#encodeReceipt(tx, at))),
      logsBloom: emptyBloom,
      difficulty: '0x0',
      gasLimit: '0x3938700',
      gasUsed: hex(gasPerTransaction * BigInt(block.transactions.length)) as Hex,
      extraData: block.number % 2 === 0 ? '0x' : '0x7e',
      mixHash: word(1n),
      nonce: '0x0000000000000000',
      baseFeePerGas: '0x7',
      withdrawalsRoot: rootOf(
        block.withdrawals.map(({ address, gwei }, at) =>
          toRlp([minimal(at), minimal(at), address as Hex, minimal(gwei)]),
        ),
      ),
      blobGasUsed: '0x0',
      excessBlobGas: '0x20000',
      parentBeaconBlockRoot: word(2n),
      requestsHash: word(3n),
      blockAccessListHash: keccak256(toRlp(accessList(block).map(encodeAccess))),
      slotNumber: hex(10 * block.number) as Hex,
      ...(this.#options.hasNewField && { newField: '0x5' }),
    }
  }

  receiptsJson(block: SimulatedBlock) {
    let logIndex = 0
    return block.transactions.map((tx, at) => ({
      ...receiptJson(block, tx, at),
      type: hex(typeOf(at)),
      cumulativeGasUsed: hex(gasPerTransaction * BigInt(at + 1)),
      gasUsed: hex(gasPerTransaction),
      logsBloom: emptyBloom,
      logs: this.#logsOfTransaction(tx, at).map((log) => ({
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

  receipts(block: SimulatedBlock) {
    return this.#receipts.getOrInsertComputed(block, (block) => this.receiptsJson(block))
  }

  #logsOfTransaction({ frame }: SimulatedTransaction, txIndex: number): SimulatedLog[] {
    const { omitsLogs, tokenLogs } = this.#options
    const all = logsOf(frame)
    const [own] = logsOf({ ...frame, calls: [] })
    const topics = [transferTopic, word(frame.from), word(frame.to)] as const
    const token = { address: `0x${'70'.repeat(20)}` as Hex, topics, data: word(frame.value) }
    const ofTokens = frame.failed ? [] : Array.from({ length: tokenLogs?.(txIndex) ?? 0 }, () => token)
    if (omitsLogs === undefined) return [...all, ...ofTokens]
    return all.filter((log, at) => log.address !== systemAddress || (omitsLogs === 'internal' && own && at === 0))
  }

  #encodeReceipt(tx: SimulatedTransaction, at: number): Hex {
    const logs = this.#logsOfTransaction(tx, at).map(
      ({ address, topics, data }): RlpInput => [address, [...topics], data],
    )
    const body = toRlp([
      minimal(tx.frame.failed ? 0 : 1),
      minimal(gasPerTransaction * BigInt(at + 1)),
      emptyBloom,
      logs,
    ])
    return typeOf(at) === 0 ? body : `0x0${typeOf(at)}${body.slice(2)}`
  }
}

const headerFields = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom', 'difficulty'],
  ...[
    'number',
    'gasLimit',
    'gasUsed',
    'timestamp',
    'extraData',
    'mixHash',
    'nonce',
    'baseFeePerGas',
    'withdrawalsRoot',
  ],
  ...['blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot', 'requestsHash', 'blockAccessListHash', 'slotNumber'],
  'newField',
]
const numbers =
  /^(difficulty|number|gasLimit|gasUsed|timestamp|baseFeePerGas|blobGasUsed|excessBlobGas|slotNumber|newField)$/

function encodeField(name: string, value: Hex | undefined): RlpInput[] {
  if (value === undefined) return []
  return [numbers.test(name) ? minimal(BigInt(value)) : value]
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

/** Of a contract that keeps something, so that storage is in the list too. */
const storageSlot = 1n

function accessList({ changes = [] }: Pick<SimulatedBlock, 'changes'>) {
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
