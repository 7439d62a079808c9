// Validates and decodes the logs of the deposit contract. Its only event is DepositEvent(bytes pubkey,
// bytes withdrawal_credentials, bytes amount, bytes signature, bytes index), with no indexed parameter.
import type { Range } from '#core/ranges.ts'
import { toBytes } from '#validators/registry/registry.ts'

/** keccak256 of `DepositEvent(bytes,bytes,bytes,bytes,bytes)`. */
export const depositTopic = '0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5'

export interface Deposit {
  readonly number: number
  readonly block: number
  /** Lower-case hash. */
  readonly transaction: string
  readonly pubkey: Uint8Array
}

interface RpcLog {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly blockNumber: string
  readonly transactionHash: string
  readonly removed?: boolean
}

const wordBytes = 32
const pubkeyField = 0
const indexField = 4
const fieldSizes: Readonly<Record<number, number>> = { [pubkeyField]: 48, [indexField]: 8 }

/** The problem with the result of eth_getLogs for a range of blocks; undefined: it is valid. */
export function validateLogs(raw: unknown, contract: string, { from, until }: Range): string | undefined {
  if (!Array.isArray(raw)) return 'the result is not a list of logs'
  for (const log of raw as Partial<RpcLog>[]) {
    const block = Number(log?.blockNumber)
    if (!(block >= from && block < until)) return `a log of block ${log?.blockNumber}, which was not requested`
    if (
      log.removed ||
      String(log.address).toLowerCase() !== contract ||
      String(log.topics?.[0]).toLowerCase() !== depositTopic
    )
      return 'a log that was not requested'
    if (!/^0x[0-9a-f]{64}$/i.test(String(log.transactionHash))) return 'a log without a transaction hash'
    if (!/^0x(?:[0-9a-f]{2})*$/i.test(String(log.data))) return 'a log without data'
    const data = Buffer.from(toBytes(log.data as string))
    if (!readField(data, pubkeyField) || !readField(data, indexField)) return 'a log that is not a deposit'
  }
  return undefined
}

export function decodeDeposit(raw: unknown): Deposit {
  const { data, blockNumber, transactionHash } = raw as RpcLog
  const bytes = Buffer.from(toBytes(data))
  return {
    number: Number((readField(bytes, indexField) as Buffer).readBigUInt64LE(0)),
    block: Number(blockNumber),
    transaction: transactionHash.toLowerCase(),
    pubkey: readField(bytes, pubkeyField) as Buffer,
  }
}

/** One of the five parameters of the event; undefined if it has the wrong size. */
function readField(data: Buffer, field: number): Buffer | undefined {
  const at = readUint(data, field * wordBytes)
  const size = readUint(data, at)
  const value = data.subarray(at + wordBytes, at + wordBytes + size)
  return size === fieldSizes[field] && value.length === size ? value : undefined
}

/** A length or an offset. Returns a value beyond the end of the data if it is too large. */
function readUint(data: Buffer, at: number): number {
  if (!(at >= 0 && at + wordBytes <= data.length)) return data.length
  const isSmall = data.subarray(at, at + wordBytes - 4).every((byte) => byte === 0)
  return isSmall ? data.readUInt32BE(at + wordBytes - 4) : data.length
}
