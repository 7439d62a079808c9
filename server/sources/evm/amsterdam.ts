// What the Amsterdam fork adds to blocks, as far as transfers are concerned. The EIPs are drafts in review, so everything
// that may still change is in this file. As of August 2026:
//
// 1. EIP-7708: a transfer of coins to another account emits a log of `transferLogAddress`, at the moment of the transfer:
//    the value of the transaction before everything else, calls, creations and self-destructs. Zero values, transfers to
//    oneself, reverted steps, fees and withdrawals emit none.
// 2. EIP-8246: a self-destruct burns nothing, so no coins disappear without a log.
// 3. EIP-7928: the header has the hash of the list of accounts that the block accessed, with their balances after each
//    transaction. Its field shows that a block is from after the fork.
// 4. eth_getBlockAccessList (execution-apis) returns this list. Nodes may delete lists after 3533 epochs.
//
// Logs are in receipts, and receipts and withdrawals have roots in the header, so both are verified.
import type { Range } from '#core/ranges.ts'
import { keccakOfHex, rlpList, rlpNumber, rlpString, rootOfList } from './rlp.ts'
import type { Block, TraceTransfer } from './types.ts'
import { inTransaction, isAddress, isMissing, isQuantity, lower, type TracedBlock } from './validate.ts'

/** The commitments in the header of a block after the fork. */
export interface AmsterdamHeader {
  readonly receiptsRoot: string
  readonly accessListHash: string
  /** Whether the withdrawals of the block have the root of the header. */
  readonly hasValidWithdrawals: boolean
}

export type LoggedBlock = TracedBlock & Pick<AmsterdamHeader, 'receiptsRoot'>

const transferLogAddress = '0xfffffffffffffffffffffffffffffffffffffffe'
/** keccak256 of `Transfer(address,address,uint256)`, which ERC-20 tokens emit too, from their own addresses. */
const transferTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

type Fields = Readonly<Record<string, unknown>>

const hashPattern = /^0x[0-9a-f]{64}$/i
const bytesPattern = /^0x(?:[0-9a-f]{2})*$/i
const bloomPattern = /^0x[0-9a-f]{512}$/i

const isHash = (value: unknown): value is string => typeof value === 'string' && hashPattern.test(value)
const isBytes = (value: unknown): value is string => typeof value === 'string' && bytesPattern.test(value)

/** Hexadecimal digits in lower case, without 0x. */
const digitsOf = (hex: unknown): string => String(hex).slice(2).toLowerCase()

/** Undefined for a block from before the fork. For a block that passed `validateTransactions`. */
export function toAmsterdamHeader(raw: unknown): AmsterdamHeader | undefined {
  const { blockAccessListHash, receiptsRoot, withdrawalsRoot, withdrawals } = raw as Fields
  if (!isHash(blockAccessListHash) || !isHash(receiptsRoot)) return undefined
  return {
    receiptsRoot: lower(receiptsRoot),
    accessListHash: lower(blockAccessListHash),
    hasValidWithdrawals: rootOfWithdrawals(withdrawals) === lower(withdrawalsRoot),
  }
}

function rootOfWithdrawals(raw: unknown): string | undefined {
  const withdrawals = (raw ?? []) as Fields[]
  if (!withdrawals.every(({ index, validatorIndex }) => isQuantity(index) && isQuantity(validatorIndex)))
    return undefined
  return rootOfList(
    withdrawals.map(({ index, validatorIndex, address, amount }) =>
      rlpList([
        rlpNumber(index as string),
        rlpNumber(validatorIndex as string),
        rlpString(digitsOf(address)),
        rlpNumber(amount as string),
      ]),
    ),
  )
}

/** The problem of the receipts of a block; undefined: they have the root of the header, and their logs explain every value. */
export function validateLoggedReceipts(raw: unknown, block: LoggedBlock): string | undefined {
  if (!Array.isArray(raw) || raw.length !== block.transactions.length) return 'not one receipt for every transaction'
  const encoded: string[] = []
  for (const [at, tx] of block.transactions.entries()) {
    const receipt = (raw[at] ?? {}) as Fields
    if (lower(receipt.transactionHash) !== tx.hash) return inTransaction(tx, 'the receipt of another transaction')
    const text = encodeReceipt(receipt)
    if (text === undefined) return inTransaction(tx, 'the receipt is incomplete')
    encoded.push(text)
  }
  if (rootOfList(encoded) !== block.receiptsRoot) return 'the receipts do not have the receiptsRoot of the block'
  for (const [at, tx] of block.transactions.entries()) {
    const transfers = loggedTransfers(raw[at] as Fields, tx)
    if (typeof transfers === 'string') return inTransaction(tx, transfers)
  }
  return undefined
}

/** The transfers of each transaction, from receipts that passed `validateLoggedReceipts`. */
export const toLoggedTransfers = (raw: unknown, { transactions }: LoggedBlock): (readonly TraceTransfer[])[] =>
  transactions.map((tx, at) => loggedTransfers((raw as Fields[])[at] as Fields, tx) as TraceTransfer[])

function encodeReceipt({ type, status, cumulativeGasUsed, logsBloom, logs }: Fields): string | undefined {
  const isComplete =
    (isMissing(type) || (isQuantity(type) && Number(type) < 0x80)) &&
    isQuantity(status) &&
    isQuantity(cumulativeGasUsed) &&
    typeof logsBloom === 'string' &&
    bloomPattern.test(logsBloom) &&
    Array.isArray(logs)
  if (!isComplete) return undefined
  const encodedLogs: string[] = []
  for (const { address, topics, data } of logs as Fields[]) {
    if (!isAddress(address) || !Array.isArray(topics) || !topics.every(isHash) || !isBytes(data)) return undefined
    const encodedTopics = topics.map((topic) => rlpString(digitsOf(topic)))
    encodedLogs.push(rlpList([rlpString(digitsOf(address)), rlpList(encodedTopics), rlpString(digitsOf(data))]))
  }
  const body = rlpList([
    rlpNumber(status),
    rlpNumber(cumulativeGasUsed),
    rlpString(digitsOf(logsBloom)),
    rlpList(encodedLogs),
  ])
  const prefix = Number(type ?? 0)
  return prefix === 0 ? body : `${prefix.toString(16).padStart(2, '0')}${body}`
}

/** A text: what contradicts EIP-7708. The first log must be the value of the transaction, if it has one. */
function loggedTransfers(
  { status, contractAddress, logs }: Fields,
  { from, to, valueWei }: TracedBlock['transactions'][number],
): TraceTransfer[] | string {
  const all = logs as readonly Fields[]
  if (Number(status) !== 1) return all.length === 0 ? [] : 'it failed, but has logs'
  const recipient = to ?? lower(contractAddress)
  const hasOwn = valueWei > 0n && recipient !== from
  const transfers: TraceTransfer[] = []
  for (const [at, log] of all.entries()) {
    const transfer = toTransfer(log)
    if (typeof transfer === 'string') return transfer
    if (!transfer) continue
    const top = hasOwn && transfers.length === 0
    if (top && at > 0) return 'a log precedes that of its value'
    transfers.push({ top, ...transfer })
  }
  if (!hasOwn) return transfers
  const [own] = transfers
  const isLogged = own?.from === from && own.to === recipient && own.valueWei === valueWei
  return isLogged ? transfers : 'its value has no log'
}

/** Undefined for the log of a contract. */
function toTransfer({ address, topics, data }: Fields): Omit<TraceTransfer, 'top'> | string | undefined {
  const [topic, from, to, ...others] = topics as readonly string[]
  if (lower(address) !== transferLogAddress || lower(topic) !== transferTopic) return undefined
  const [sender, recipient] = [toAddress(from), toAddress(to)]
  if (sender === undefined || recipient === undefined || others.length > 0 || !isHash(data))
    return 'the log of a transfer is malformed'
  const valueWei = BigInt(data)
  return valueWei > 0n && sender !== recipient
    ? { from: sender, to: recipient, valueWei }
    : 'a log of a transfer without value, or to its sender'
}

const toAddress = (topic: string | undefined): string | undefined =>
  topic?.startsWith(`0x${'0'.repeat(24)}`) ? `0x${topic.slice(26).toLowerCase()}` : undefined

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
export const validateAccessList = (raw: unknown, accessListHash: string): string | undefined => {
  const encoded = encodeAccessList(raw)
  if (encoded === undefined) return 'the access list is malformed'
  return keccakOfHex(encoded) === accessListHash
    ? undefined
    : 'the access list does not have the blockAccessListHash of the block'
}

export const toAccountBalances = (raw: unknown): AccountBalances[] =>
  (raw as Fields[]).map(({ address, balanceChanges }) => ({
    address: lower(address),
    changes: ((balanceChanges ?? []) as { index: string; value: string }[]).map(({ index, value }) => ({
      index: Number(index),
      valueWei: BigInt(value),
    })),
  }))

function encodeAccessList(raw: unknown): string | undefined {
  if (!Array.isArray(raw)) return undefined
  try {
    return rlpList(raw.map(encodeAccount))
  } catch (error) {
    if (error instanceof MalformedList) return undefined
    throw error
  }
}

class MalformedList extends Error {}

function encodeAccount(raw: unknown): string {
  const { address, storageChanges, storageReads, balanceChanges, nonceChanges, codeChanges } = (raw ?? {}) as Fields
  if (!isAddress(address)) throw new MalformedList()
  return rlpList([
    rlpString(digitsOf(address)),
    encodeEach(storageChanges, ({ key, changes }) =>
      rlpList([encodeNumber(key), encodeEach(changes, ({ index, value }) => encodePair(index, encodeNumber(value)))]),
    ),
    rlpList(toList(storageReads).map(encodeNumber)),
    encodeEach(balanceChanges, ({ index, value }) => encodePair(index, encodeNumber(value))),
    encodeEach(nonceChanges, ({ index, value }) => encodePair(index, encodeNumber(value))),
    encodeEach(codeChanges, ({ index, code }) => encodePair(index, encodeBytes(code))),
  ])
}

const encodeEach = (raw: unknown, encode: (fields: Fields) => string): string =>
  rlpList(toList(raw).map((item) => encode((item ?? {}) as Fields)))

const encodePair = (index: unknown, value: string): string => rlpList([encodeNumber(index), value])

function toList(raw: unknown): readonly unknown[] {
  if (isMissing(raw)) return []
  if (!Array.isArray(raw)) throw new MalformedList()
  return raw
}

function encodeNumber(raw: unknown): string {
  if (!isQuantity(raw)) throw new MalformedList()
  return rlpNumber(raw)
}

function encodeBytes(raw: unknown): string {
  if (!isBytes(raw)) throw new MalformedList()
  return rlpString(digitsOf(raw))
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
