// Reads the receipts of a block after the Amsterdam fork: verifies them with the receiptsRoot of its header, and returns
// the transfers in their logs. An index spends most of its time on this. So receipts are read where they are in the
// response, and their digits are decoded into the bytes that are hashed.
//
// 1. Transfers are read from the bytes that were hashed, so the root covers them.
// 2. What the root does not cover, the hash of a transaction, must be that of the block.
import { type LoggedBlock, topTransfers, toTransfer, type UnplacedTransfer } from './amsterdam.ts'
import { JsonBytes, nameHash, UnexpectedJson } from './json-bytes.ts'
import { numberSize, prefixSize, rootOfList, writeListPrefix, writeNumber, writeStringPrefix } from './rlp.ts'
import type { TraceTransfer } from './types.ts'
import { inTransaction } from './validate.ts'

/** The transfers of each transaction, or the problem of the receipts. */
export type LoggedTransfers = readonly (readonly TraceTransfer[])[] | string

/** Of receipts that were parsed already. */
export function toLoggedTransfers(raw: unknown, block: LoggedBlock): LoggedTransfers {
  try {
    return new ReceiptReader(new JsonBytes(Buffer.from(JSON.stringify(raw)))).readBlock(block)
  } catch (error) {
    if (error instanceof UnexpectedJson) return 'the receipts are malformed'
    throw error
  }
}

export interface LoggedReceipt {
  readonly transactionHash: string
  /** Undefined: it is not complete. */
  readonly encoded: Uint8Array | undefined
  readonly hasSucceeded: boolean
  readonly logs: number
  /** The transfers in its logs; a text: one of them is malformed. */
  readonly transfers: readonly UnplacedTransfer[] | string
  /** The position of the first transfer among the logs. */
  readonly firstTransferAt: number
}

const names = {
  transactionHash: nameHash('transactionHash'),
  type: nameHash('type'),
  status: nameHash('status'),
  gas: nameHash('cumulativeGasUsed'),
  bloom: nameHash('logsBloom'),
  logs: nameHash('logs'),
  address: nameHash('address'),
  topics: nameHash('topics'),
  data: nameHash('data'),
}

const addressBytes = 20
const wordBytes = 32
const bloomBytes = 256
const topicsMax = 4
const typeMax = 0x7f
const wrongCount = 'not one receipt for every transaction'

/** Of what precedes the logs of a receipt: its type, its prefix, two numbers, the bloom filter and the prefix of the logs. */
const headSizeMax = 1 + 5 + 2 * 9 + prefixSize(bloomBytes) + bloomBytes + 5

/** Reads the receipts in a response, which may be those of several blocks. */
export class ReceiptReader {
  readonly #json: JsonBytes
  /** The encoded receipts of one block. */
  readonly #bytes: Buffer
  /** Where the next receipt or log is written. */
  #end = 0
  readonly #topics = new Int32Array(topicsMax)

  constructor(json: JsonBytes) {
    this.#json = json
    // The text of a receipt is more than twice as long as its encoding. One that is not complete is the last one.
    this.#bytes = Buffer.allocUnsafe((json.bytes.length >> 1) + headSizeMax)
  }

  /** A list of receipts must begin at the position of the JSON. Throws UnexpectedJson if it cannot be read. */
  readBlock({ transactions, receiptsRoot }: LoggedBlock): LoggedTransfers {
    const json = this.#json
    this.#end = 0
    const encoded: Uint8Array[] = []
    const transfers: (readonly TraceTransfer[])[] = []
    let contradiction: string | undefined
    for (let isOpen = json.begin('list'); isOpen; isOpen = json.hasNext('list')) {
      const tx = transactions[encoded.length]
      if (!tx) return wrongCount
      const receipt = this.#readReceipt()
      if (receipt.transactionHash !== tx.hash) return inTransaction(tx, 'the receipt of another transaction')
      if (!receipt.encoded) return inTransaction(tx, 'the receipt is incomplete')
      encoded.push(receipt.encoded)
      const own = topTransfers(receipt, tx)
      if (typeof own === 'string') contradiction ??= inTransaction(tx, own)
      else transfers.push(own)
    }
    if (encoded.length !== transactions.length) return wrongCount
    if (rootOfList(encoded) !== receiptsRoot) return 'the receipts do not have the receiptsRoot of the block'
    return contradiction ?? transfers
  }

  #readReceipt(): LoggedReceipt {
    const json = this.#json
    const logsAt = this.#end + headSizeMax
    this.#end = logsAt
    let hashAt = -1
    let bloomAt = -1
    let status = -1
    let gas = -1
    let type = 0
    let logs = -1
    let firstTransferAt = -1
    const transfers: UnplacedTransfer[] = []
    let problem: string | undefined
    for (let isOpen = json.begin('object'); isOpen; isOpen = json.hasNext('object')) {
      const name = json.name()
      if (name === names.logs) {
        // Of members with the same name, JSON.parse uses the last one.
        if (logs >= 0) throw new UnexpectedJson()
        logs = 0
        for (let isInList = json.begin('list'); isInList; isInList = json.hasNext('list')) {
          const transfer = this.#readLog()
          if (typeof transfer === 'string') problem ??= transfer
          else if (transfer && transfers.push(transfer) === 1) firstTransferAt = logs
          logs += 1
        }
      } else if (name === names.transactionHash) hashAt = json.hexOf(2 * wordBytes)
      else if (name === names.bloom) bloomAt = json.hexOf(2 * bloomBytes)
      else if (name === names.gas) gas = json.quantity()
      else if (name === names.status) status = json.quantity()
      else if (name === names.type) type = json.quantity()
      else json.skip()
    }
    const isComplete = status >= 0 && gas >= 0 && bloomAt >= 0 && logs >= 0 && type <= typeMax
    return {
      transactionHash: hashAt < 0 ? '' : json.hexText(hashAt, 2 * wordBytes),
      encoded: isComplete ? this.#encode(type, status, gas, bloomAt, logsAt) : undefined,
      hasSucceeded: status === 1,
      logs,
      transfers: problem ?? transfers,
      firstTransferAt,
    }
  }

  /** Writes what precedes the logs, which were written at `logsAt`, and returns all of the receipt. */
  #encode(type: number, status: number, gas: number, bloomAt: number, logsAt: number): Uint8Array {
    const bytes = this.#bytes
    const logsSize = this.#end - logsAt
    const bloomSize = prefixSize(bloomBytes) + bloomBytes
    const headSize = numberSize(status) + numberSize(gas) + bloomSize + prefixSize(logsSize)
    const start = logsAt - headSize - prefixSize(headSize + logsSize) - (type > 0 ? 1 : 0)
    let at = start
    if (type > 0) bytes[at++] = type
    at = writeListPrefix(bytes, at, headSize + logsSize)
    at = writeNumber(bytes, at, status)
    at = writeNumber(bytes, at, gas)
    at = this.#json.decodeHex(bloomAt, 2 * bloomBytes, bytes, writeStringPrefix(bytes, at, bloomBytes))
    writeListPrefix(bytes, at, logsSize)
    return bytes.subarray(start, this.#end)
  }

  /** Encodes the next log. Returns its transfer, or what is wrong with it; undefined for the log of a contract. */
  #readLog(): UnplacedTransfer | string | undefined {
    const json = this.#json
    let addressAt = -1
    let topics = -1
    let dataAt = -1
    let dataDigits = 0
    for (let isOpen = json.begin('object'); isOpen; isOpen = json.hasNext('object')) {
      const name = json.name()
      if (name === names.address) addressAt = json.hexOf(2 * addressBytes)
      else if (name === names.topics) topics = this.#readTopics()
      else if (name === names.data) {
        dataAt = json.hex()
        dataDigits = json.at - 1 - dataAt
      } else json.skip()
    }
    if (addressAt < 0 || topics < 0 || dataAt < 0 || dataDigits % 2 === 1) throw new UnexpectedJson()
    const bytes = this.#bytes
    const dataSize = dataDigits / 2
    const isOwnEncoding = dataSize === 1 && json.isBelow80(dataAt)
    const topicsSize = topics * (1 + wordBytes)
    const size =
      1 + addressBytes + prefixSize(topicsSize) + topicsSize + (isOwnEncoding ? 0 : prefixSize(dataSize)) + dataSize
    let at = writeListPrefix(bytes, this.#end, size)
    const addressEnd = json.decodeHex(addressAt, 2 * addressBytes, bytes, writeStringPrefix(bytes, at, addressBytes))
    at = writeListPrefix(bytes, addressEnd, topicsSize)
    const topicsStart = at
    for (let topic = 0; topic < topics; topic++) {
      const topicAt = this.#topics[topic] as number
      at = json.decodeHex(topicAt, 2 * wordBytes, bytes, writeStringPrefix(bytes, at, wordBytes))
    }
    if (!isOwnEncoding) at = writeStringPrefix(bytes, at, dataSize)
    this.#end = json.decodeHex(dataAt, dataDigits, bytes, at)
    return toTransfer(bytes, {
      addressAt: addressEnd - addressBytes,
      topicsAt: topicsStart,
      topics,
      dataAt: at,
      dataSize,
    })
  }

  /** Returns their number. */
  #readTopics(): number {
    const json = this.#json
    let count = 0
    for (let isOpen = json.begin('list'); isOpen; isOpen = json.hasNext('list')) {
      if (count === topicsMax) throw new UnexpectedJson()
      this.#topics[count++] = json.hexOf(2 * wordBytes)
    }
    return count
  }
}
