// Reads the requests that the execution layer sends to the beacon chain in a block, and reads and writes the records of
// queued deposits and consolidations. The layouts are those of the consensus specifications.
import type { Block } from '#sources/beacon/block.ts'
import {
  consolidationIn,
  consolidationSize,
  depositIn,
  depositSize,
  type PendingConsolidation,
  type PendingDeposit,
} from '#sources/beacon/pending.ts'
import { View } from '#sources/beacon/ssz.ts'
import { pubkeySize } from '#sources/beacon/validator-keys.ts'

/** A deposit record without its last field: the slot in the queue, the index in a request. */
const depositDataSize = depositSize - 8
const amountAt = 80
const signatureAt = 88
/** Both requests start with the address of the sender and the public key of the validator. */
const consolidationRequestSize = 116
const withdrawalRequestSize = 76
const addressSize = 20
const keyAt = addressSize

export interface ValidatorRequest {
  /** Address. */
  readonly sender: string
  readonly pubkey: string
}

const validatorRequest = (request: View): ValidatorRequest => ({
  sender: request.hex(0, addressSize),
  pubkey: request.hex(keyAt, pubkeySize),
})

/** Blocks before Electra have none. */
const requestsIn = (requests: Uint8Array | undefined, size: number): View[] =>
  requests ? new View(requests).list(size) : []

/** Records for the queue. */
export const depositRequests = ({ slot, requests }: Block): Uint8Array[] =>
  requestsIn(requests?.deposits, depositSize).map((request) =>
    depositRecord(request.part(0, depositDataSize).bytes, slot),
  )

/** `isExit`: the amount is zero. */
export const withdrawalRequests = ({ requests }: Block): (ValidatorRequest & { readonly isExit: boolean })[] =>
  requestsIn(requests?.withdrawals, withdrawalRequestSize).map((request) => ({
    ...validatorRequest(request),
    isExit: request.u64(keyAt + pubkeySize) === 0,
  }))

/** `target`: public key. If it is that of the validator itself, the request makes it compounding. */
export const consolidationRequests = ({ requests }: Block): (ValidatorRequest & { readonly target: string })[] =>
  requestsIn(requests?.consolidations, consolidationRequestSize).map((request) => ({
    ...validatorRequest(request),
    target: request.hex(keyAt + pubkeySize, pubkeySize),
  }))

/** The public keys in the deposits and requests of a block that concern known validators. */
export function keysIn(block: Block): string[] {
  const consolidations = consolidationRequests(block)
  const targets = consolidations.map(({ target }) => target)
  return [...pubkeysOf([...block.deposits, ...withdrawalRequests(block), ...consolidations]), ...targets]
}

export const pubkeysOf = (deposits: readonly { readonly pubkey: string }[]): string[] =>
  deposits.map(({ pubkey }) => pubkey)

/** The first records of the queue, each with its bytes. */
export const readQueuedDeposits = (
  queue: Uint8Array,
  countMax: number,
): (PendingDeposit & { readonly bytes: Uint8Array })[] =>
  new View(queue.subarray(0, Math.min(queue.length, countMax * depositSize)))
    .list(depositSize)
    .map(({ bytes }) => ({ ...depositIn(bytes), bytes }))

/** All records of the queue. */
export const readQueuedConsolidations = (queue: Uint8Array): PendingConsolidation[] =>
  new View(queue).list(consolidationSize).map(({ bytes }) => consolidationIn(bytes))

export function consolidationRecord(source: number, target: number): Uint8Array {
  const record = Buffer.alloc(consolidationSize)
  record.writeBigUInt64LE(BigInt(source))
  record.writeBigUInt64LE(BigInt(target), 8)
  return record
}

/** A record for the queue that the chain creates itself. Its signature is the point at infinity. */
export function unsignedDeposit(pubkey: Uint8Array, credentials: Uint8Array, gwei: number): Uint8Array {
  const data = Buffer.alloc(depositDataSize)
  data.set(pubkey)
  data.set(credentials, pubkeySize)
  data.writeBigUInt64LE(BigInt(gwei), amountAt)
  data[signatureAt] = 0xc0
  return depositRecord(data, 0)
}

function depositRecord(data: Uint8Array, slot: number): Uint8Array {
  const record = Buffer.alloc(depositSize)
  record.set(data)
  record.writeBigUInt64LE(BigInt(slot), depositDataSize)
  return record
}
