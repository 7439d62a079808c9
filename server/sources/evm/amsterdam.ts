// What the Amsterdam fork adds to blocks, as far as transfers are concerned. The EIPs are drafts in review, so everything
// that may still change is in this file. As of August 2026:
//
// 1. EIP-7708: a transfer of coins to another account emits a log of `transferLogAddress`, at the moment of the transfer:
//    the value of the transaction before everything else, calls, creations and self-destructs. Zero values, transfers to
//    oneself, reverted steps, fees and withdrawals emit none.
// 2. EIP-8246: a self-destruct burns nothing, so no coins disappear without a log.
// 3. EIP-7928: the header has the hash of the list of accounts that the block accessed, with their balances after each
//    transaction. Its field shows that a block is from after the fork.
// 4. eth_getBlockAccessList (execution-apis) returns this list. Nodes may delete lists after 3533 epochs. Without a list
//    the result is null, or error 4444 (deleted) or -32001 (before the fork); earlier versions of clients return other
//    errors, and other names of members.
// 5. EIP-7843: the header ends with the number of the slot.
//
// Logs are in receipts, and receipts and withdrawals have roots in the header, so both are verified. The header is
// verified by the hash of the block.
import type { Range } from '#core/ranges.ts'
import type { LoggedReceipt } from './logged-receipts.ts'
import { encodeRlp, hashOfRlp, MalformedHex, numberBytes, type RlpItem, rootOfList } from './rlp.ts'
import type { Block, TraceTransfer } from './types.ts'
import { isAddress, isMissing, isQuantity, lower, type TracedBlock, type TracedTransaction } from './validate.ts'

/** The commitments in the header of a block after the fork. */
export interface AmsterdamHeader {
  readonly receiptsRoot: string
  readonly accessListHash: string
  readonly headerHash: HeaderHash
  /** Whether the withdrawals of the block have the root of the header. */
  readonly hasValidWithdrawals: boolean
}

export type LoggedBlock = TracedBlock & Pick<AmsterdamHeader, 'receiptsRoot'>

const transferLogAddress = '0xfffffffffffffffffffffffffffffffffffffffe'
/** keccak256 of `Transfer(address,address,uint256)`, which ERC-20 tokens emit too, from their own addresses. */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

type Fields = Readonly<Record<string, unknown>>

const hashPattern = /^0x[0-9a-f]{64}$/i

const isHash = (value: unknown): value is string => typeof value === 'string' && hashPattern.test(value)

/** Whether a block is from after the fork. */
export const isAmsterdam = (raw: unknown): boolean => {
  const { blockAccessListHash, receiptsRoot } = raw as Fields
  return isHash(blockAccessListHash) && isHash(receiptsRoot)
}

/** Undefined for a block from before the fork. For a block that passed `validateTransactions`. */
export function toAmsterdamHeader(raw: unknown): AmsterdamHeader | undefined {
  if (!isAmsterdam(raw)) return undefined
  const { blockAccessListHash, receiptsRoot, withdrawalsRoot, withdrawals } = raw as Fields
  return {
    receiptsRoot: lower(receiptsRoot),
    accessListHash: lower(blockAccessListHash),
    headerHash: verifyHeaderHash(raw),
    hasValidWithdrawals: rootOfWithdrawals(withdrawals) === lower(withdrawalsRoot),
  }
}

/**
 * Whether the hash of the header is that of the block. `unknown`: it is not, but the block has other members than these, or
 * lacks one, so its header may have other fields.
 */
export type HeaderHash = 'verified' | 'wrong' | 'unknown'

/** The fields of a header after the fork, in their order. Numbers are encoded without leading zeros. */
const headerFields: readonly (readonly [name: string, isNumber?: 'number'])[] = [
  ['parentHash'],
  ['sha3Uncles'],
  ['miner'],
  ['stateRoot'],
  ['transactionsRoot'],
  ['receiptsRoot'],
  ['logsBloom'],
  ['difficulty', 'number'],
  ['number', 'number'],
  ['gasLimit', 'number'],
  ['gasUsed', 'number'],
  ['timestamp', 'number'],
  ['extraData'],
  ['mixHash'],
  ['nonce'],
  ['baseFeePerGas', 'number'],
  ['withdrawalsRoot'],
  ['blobGasUsed', 'number'],
  ['excessBlobGas', 'number'],
  ['parentBeaconBlockRoot'],
  ['requestsHash'],
  ['blockAccessListHash'],
  ['slotNumber', 'number'],
]
/** Members of a block that are not in its header. */
const otherMembers = ['hash', 'size', 'totalDifficulty', 'uncles', 'transactions', 'withdrawals']
const knownMembers: ReadonlySet<string> = new Set([...headerFields.map(([name]) => name), ...otherMembers])

export function verifyHeaderHash(raw: unknown): HeaderHash {
  const block = raw as Fields
  const present = headerFields.filter(([name]) => !isMissing(block[name]))
  if (hashOfFields(block, present) === lower(block.hash)) return 'verified'
  const isKnown = present.length === headerFields.length && Object.keys(block).every((name) => knownMembers.has(name))
  return isKnown ? 'wrong' : 'unknown'
}

/** Undefined: a field is malformed. */
function hashOfFields(block: Fields, fields: typeof headerFields): string | undefined {
  try {
    return hashOfRlp(
      fields.map(([name, isNumber]) => (isNumber ? encodeNumber(block[name]) : encodeBytes(block[name]))),
    )
  } catch (error) {
    if (error instanceof MalformedHex) return undefined
    throw error
  }
}

function rootOfWithdrawals(raw: unknown): string | undefined {
  const withdrawals = (raw ?? []) as Fields[]
  if (!withdrawals.every(({ index, validatorIndex }) => isQuantity(index) && isQuantity(validatorIndex)))
    return undefined
  const numberOf = (value: unknown): string => numberBytes(value as string)
  return rootOfList(
    withdrawals.map(({ index, validatorIndex, address, amount }) =>
      encodeRlp([numberOf(index), numberOf(validatorIndex), address as string, numberOf(amount)]),
    ),
  )
}

/** A transfer of a transaction: its own value, or an internal one. */
export type UnplacedTransfer = Omit<TraceTransfer, 'top'>

const transferTopics = 3
const addressBytes = 20
const wordBytes = 32
const topicSize = 1 + wordBytes
const systemAddress = Buffer.from(transferLogAddress.slice(2), 'hex')
const topicBytes = Buffer.from(transferTopic.slice(2), 'hex')
const topicPadding = Buffer.alloc(wordBytes - addressBytes)

/** Where the parts of a log are in its encoding. Each topic has a prefix of one byte. */
export interface EncodedLog {
  readonly addressAt: number
  readonly topicsAt: number
  readonly topics: number
  readonly dataAt: number
  readonly dataSize: number
}

/** The transfer that a log shows; a text: what contradicts EIP-7708. Undefined for the log of a contract. */
export function toTransfer(
  bytes: Buffer,
  { addressAt, topicsAt, topics, dataAt, dataSize }: EncodedLog,
): UnplacedTransfer | string | undefined {
  if (!hasAt(bytes, addressAt, systemAddress)) return undefined
  if (topics === 0 || !hasAt(bytes, topicsAt + 1, topicBytes)) return undefined
  const fromAt = topicsAt + topicSize + 1
  const toAt = fromAt + topicSize
  const isTransfer = topics === transferTopics && dataSize === wordBytes
  if (!isTransfer || !hasAt(bytes, fromAt, topicPadding) || !hasAt(bytes, toAt, topicPadding))
    return 'the log of a transfer is malformed'
  const from = `0x${bytes.toString('hex', fromAt + topicPadding.length, fromAt + wordBytes)}`
  const to = `0x${bytes.toString('hex', toAt + topicPadding.length, toAt + wordBytes)}`
  const valueWei = BigInt(`0x${bytes.toString('hex', dataAt, dataAt + dataSize)}`)
  return valueWei > 0n && from !== to ? { from, to, valueWei } : 'a log of a transfer without value, or to its sender'
}

function hasAt(bytes: Uint8Array, at: number, expected: Uint8Array): boolean {
  for (let index = 0; index < expected.length; index++) if (bytes[at + index] !== expected[index]) return false
  return true
}

/** A text: what contradicts EIP-7708. The first log must be the value of the transaction, if it has one. */
export function topTransfers(
  { hasSucceeded, logs, transfers, firstTransferAt }: LoggedReceipt,
  { from, to, valueWei }: TracedTransaction,
): readonly TraceTransfer[] | string {
  if (!hasSucceeded) return logs === 0 ? [] : 'it failed, but has logs'
  if (typeof transfers === 'string') return transfers
  const hasOwn = valueWei > 0n && to !== from
  if (hasOwn) {
    if (firstTransferAt > 0) return 'a log precedes that of its value'
    const [own] = transfers
    // Of a creation, the log has the contract. The receipt names it too, but the root does not cover that.
    const isLogged = own?.from === from && own.to === (to ?? own.to) && own.valueWei === valueWei
    if (!isLogged) return 'its value has no log'
  }
  return transfers.map((transfer, at) => ({ top: hasOwn && at === 0, ...transfer }))
}

/** The parameter of eth_getLogs for the transfers to or from an address in [from, until). */
export const transferLogFilter = (address: string, side: 'toAddress' | 'fromAddress', { from, until }: Range) => {
  const topic = `0x${'0'.repeat(24)}${address.slice(2)}`
  const topics = side === 'toAddress' ? [transferTopic, null, topic] : [transferTopic, topic]
  const blocks = { fromBlock: `0x${from.toString(16)}`, toBlock: `0x${(until - 1).toString(16)}` }
  return { ...blocks, address: transferLogAddress, topics }
}

/** The problem of a result of eth_getLogs for such a filter. */
export function validateTransferLogs(
  raw: unknown,
  { topics }: ReturnType<typeof transferLogFilter>,
  { from, until }: Range,
): string | undefined {
  if (!Array.isArray(raw)) return 'not a list of logs'
  const blocks = (raw as Fields[]).map((log) => (isQuantity(log?.blockNumber) ? Number(log.blockNumber) : -1))
  if (blocks.some((block) => block < from || block >= until)) return 'logs outside the requested range'
  if (blocks.some((block, at) => block < (blocks[at - 1] ?? 0))) return 'the logs are out of order'
  const isRequested = ({ address, topics: own, removed }: Fields): boolean =>
    removed !== true &&
    lower(address) === transferLogAddress &&
    topics.every((topic, at) => topic === null || lower((own as unknown[] | undefined)?.[at]) === topic)
  return (raw as Fields[]).every(isRequested) ? undefined : 'logs that were not requested'
}

/** The balances of an account after the transactions that changed it. */
export interface AccountBalances {
  readonly address: string
  /** `index`: 0 before the transactions, then one for each, then one for what comes after them. */
  readonly changes: readonly { readonly index: number; readonly valueWei: bigint }[]
}

/** The problem of a result of eth_getBlockAccessList. */
export function validateAccessList(raw: unknown, accessListHash: string): string | undefined {
  try {
    return hashOfRlp(toList(raw).map(encodeAccount)) === accessListHash
      ? undefined
      : 'the access list does not have the blockAccessListHash of the block'
  } catch (error) {
    if (error instanceof MalformedHex) return 'the access list is malformed'
    throw error
  }
}

export const toAccountBalances = (raw: unknown): AccountBalances[] =>
  (raw as Fields[]).map(({ address, balanceChanges }) => ({
    address: lower(address),
    changes: ((balanceChanges ?? []) as { index: string; value: string }[]).map(({ index, value }) => ({
      index: Number(index),
      valueWei: BigInt(value),
    })),
  }))

function encodeAccount(raw: unknown): RlpItem {
  const { address, storageChanges, storageReads, balanceChanges, nonceChanges, codeChanges } = (raw ?? {}) as Fields
  if (!isAddress(address)) throw new MalformedHex()
  return [
    address,
    encodeEach(storageChanges, ({ key, changes }) => [
      encodeNumber(key),
      encodeEach(changes, ({ index, value }) => [encodeNumber(index), encodeNumber(value)]),
    ]),
    toList(storageReads).map(encodeNumber),
    encodeEach(balanceChanges, ({ index, value }) => [encodeNumber(index), encodeNumber(value)]),
    encodeEach(nonceChanges, ({ index, value }) => [encodeNumber(index), encodeNumber(value)]),
    encodeEach(codeChanges, ({ index, code }) => [encodeNumber(index), encodeBytes(code)]),
  ]
}

const encodeEach = (raw: unknown, encode: (fields: Fields) => RlpItem): RlpItem =>
  toList(raw).map((item) => encode((item ?? {}) as Fields))

function toList(raw: unknown): readonly unknown[] {
  if (isMissing(raw)) return []
  if (!Array.isArray(raw)) throw new MalformedHex()
  return raw
}

function encodeNumber(raw: unknown): string {
  if (!isQuantity(raw)) throw new MalformedHex()
  return numberBytes(raw)
}

function encodeBytes(raw: unknown): string {
  if (typeof raw !== 'string' || !raw.startsWith('0x')) throw new MalformedHex()
  return raw
}

/**
 * The first change of a balance that neither transfers, fees nor withdrawals explain; undefined: there is none. A change
 * whose previous balance is not in the list is explained by any transfer, fee or withdrawal of the account.
 */
export function findUnexplainedBalance(
  block: Pick<Block, 'miner' | 'transactions' | 'withdrawals'>,
  transfers: readonly (readonly TraceTransfer[])[],
  accounts: readonly AccountBalances[],
): string | undefined {
  const expected = transfers.map(netChanges)
  const withdrawn = new Map<string, bigint>()
  for (const { address, valueWei } of block.withdrawals) add(withdrawn, address, valueWei)
  const last = block.transactions.length + 1
  const listed = new Set<string>()
  for (const { address, changes } of accounts) {
    let before: bigint | undefined
    for (const { index, valueWei } of changes) {
      listed.add(`${index} ${address}`)
      const difference = before === undefined ? undefined : valueWei - before
      before = valueWei
      const net = index === last ? withdrawn.get(address) : expected[index - 1]?.get(address)
      const paysFees = block.transactions[index - 1]?.from === address
      const getsFees = index < last && index > 0 && block.miner === address
      if ((net ?? 0n) === 0n && !paysFees && !getsFees) return describeChange(address, index)
      const unexplained = difference === undefined ? 0n : difference - (net ?? 0n)
      if ((unexplained > 0n && !getsFees) || (unexplained < 0n && !paysFees)) return describeChange(address, index)
    }
  }
  for (const [at, nets] of expected.entries()) {
    for (const [address, net] of nets) {
      const mayBeEqual = block.miner === address || block.transactions[at]?.from === address
      if (net !== 0n && !mayBeEqual && !listed.has(`${at + 1} ${address}`)) return describeChange(address, at + 1)
    }
  }
  return undefined
}

const describeChange = (address: string, index: number): string =>
  `the access list and the logs differ about the balance of ${address} at index ${index}`

/** What each account gained or lost in a transaction. */
function netChanges(transfers: readonly TraceTransfer[]): Map<string, bigint> {
  const nets = new Map<string, bigint>()
  for (const { from, to, valueWei } of transfers) {
    add(nets, from, -valueWei)
    add(nets, to, valueWei)
  }
  return nets
}

const add = (sums: Map<string, bigint>, address: string, wei: bigint): void => {
  sums.set(address, (sums.get(address) ?? 0n) + wei)
}
