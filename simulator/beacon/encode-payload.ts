// Execution payloads of simulated blocks as JSON, in the block or since Gloas in its envelope. Fields that ingest does not
// read are zero.
import { isForkFrom } from '#sources/beacon/consensus.ts'
import type { SimulatedWithdrawal } from './gloas/gloas-records.ts'
import type { SimulatedBlock } from './records.ts'

export const text = (bytes: Buffer): string => `0x${bytes.toString('hex')}`
export const zeroText = (bytes: number): string => text(Buffer.alloc(bytes))
export const root0 = zeroText(32)

/** The point at infinity, in place of a signature. */
export const infinitySignature = `0xc0${'00'.repeat(95)}`

/** A block before its root is known. */
export type Rootless = Omit<SimulatedBlock, 'root'>

/** Arbitrary bytes: ingest reads transactions from the execution node. */
const transactionBytes = (at: number): Buffer => Buffer.alloc(10 + at, 7)

/** Builders have their own indices, which are marked by a bit. */
const builderFlag = 2n ** 40n

export const indexInWithdrawal = ({ validator, isBuilder }: SimulatedWithdrawal): bigint =>
  BigInt(validator) + (isBuilder ? builderFlag : 0n)

const withdrawalJson = (withdrawal: SimulatedWithdrawal) => ({
  index: String(withdrawal.index),
  validator_index: String(indexInWithdrawal(withdrawal)),
  address: withdrawal.address,
  amount: String(withdrawal.amount),
})

export const payloadJson = ({ fork, payload, withdrawals }: Pick<Rootless, 'fork' | 'payload' | 'withdrawals'>) => ({
  parent_hash: root0,
  fee_recipient: payload.feeRecipient,
  state_root: root0,
  receipts_root: root0,
  logs_bloom: zeroText(256),
  prev_randao: payload.prevRandao,
  block_number: String(payload.number),
  gas_limit: '0',
  gas_used: '0',
  timestamp: '0',
  extra_data: '0x',
  base_fee_per_gas: String(payload.baseFeeWei),
  block_hash: payload.hash,
  transactions: payload.transactions.map((_, at) => text(transactionBytes(at))),
  ...(isForkFrom(fork, 'capella') && { withdrawals: withdrawals.map(withdrawalJson) }),
  ...(isForkFrom(fork, 'deneb') && { blob_gas_used: '0', excess_blob_gas: '0' }),
})
