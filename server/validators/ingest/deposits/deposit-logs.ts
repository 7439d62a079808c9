// The one event of the deposit contract: DepositEvent(bytes pubkey, bytes withdrawal_credentials, bytes amount,
// bytes signature, bytes index), nothing of it indexed. Its index is eight bytes, the lowest first.
import type { Range } from '#core/ranges.ts'
import { toBytes } from '#validators/registry/registry.ts'

/** keccak256 of `DepositEvent(bytes,bytes,bytes,bytes,bytes)`. */
export const depositTopic = '0x649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5'

export interface Deposit {
  readonly number: number
  readonly block: number
  /** Hash, lower-case. */
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

/** What is wrong with the answer to a question for the contract's logs in a range of blocks; undefined: nothing. */
export function validateLogs(raw: unknown, contract: string, { from, until }: Range): string | undefined {
  if (!Array.isArray(raw)) return 'no list of logs'
  for (const log of raw as Partial<RpcLog>[]) {
    const block = Number(log?.blockNumber)
    if (!(block >= from && block < until)) return `a log of block ${log?.blockNumber}, which was not asked for`
    if (
      log.removed ||
      String(log.address).toLowerCase() !== contract ||
      log.topics?.[0]?.toLowerCase() !== depositTopic
    )
      return 'a log that was not asked for'
    if (!/^0x[0-9a-f]{64}$/i.test(String(log.transactionHash))) return 'a log without its transaction'
    if (!/^0x(?:[0-9a-f]{2})*$/i.test(String(log.data))) return 'a log without its data'
    const data = Buffer.from(toBytes(log.data as string))
    if (!readField(data, pubkeyField) || !readField(data, indexField)) return 'a log that is no deposit'
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

/** One of the event's five fields; undefined when it is not of its size. */
function readField(data: Buffer, field: number): Buffer | undefined {
  const at = readUint(data, field * wordBytes)
  const size = readUint(data, at)
  const own = data.subarray(at + wordBytes, at + wordBytes + size)
  return size === fieldSizes[field] && own.length === size ? own : undefined
}

/** A length or an offset; one that no log can have: beyond its end. */
function readUint(data: Buffer, at: number): number {
  if (!(at >= 0 && at + wordBytes <= data.length)) return data.length
  const isSmall = data.subarray(at, at + wordBytes - 4).every((byte) => byte === 0)
  return isSmall ? data.readUInt32BE(at + wordBytes - 4) : data.length
}
