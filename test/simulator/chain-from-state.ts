// Reads a recorded state since Gloas into the data of a simulated chain, so that the rules of the simulator can be
// applied to it.
import { far } from '#simulator/beacon/amounts.ts'
import { type ChainData, freshChain } from '#simulator/beacon/chain.ts'
import type {
  BuilderPayment,
  PendingPayment,
  SimulatedBid,
  SimulatedBuilder,
} from '#simulator/beacon/gloas/gloas-records.ts'
import type { SimulatedPendingDeposit, SimulatedValidator } from '#simulator/beacon/records.ts'
import type { ConsensusRules } from '#sources/beacon/consensus.ts'
import { electraOffsets, gloasOffsets, stateOffsets } from '#sources/beacon/state-layout.ts'

const zeroAddress = `0x${'00'.repeat(20)}`
const builderFlag = 2n ** 40n

/** One value after another. */
class Reader {
  readonly #bytes: Buffer
  #at: number

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes
    this.#at = at
  }

  hex(size: number): string {
    this.#at += size
    return `0x${this.#bytes.toString('hex', this.#at - size, this.#at)}`
  }

  gwei(): bigint {
    this.#at += 8
    return this.#bytes.readBigUInt64LE(this.#at - 8)
  }

  number(): number {
    return Number(this.gwei())
  }

  epoch(): number {
    const value = this.gwei()
    return value === 2n ** 64n - 1n ? far : Number(value)
  }

  flag(): boolean {
    this.#at += 1
    return this.#bytes[this.#at - 1] === 1
  }
}

const validatorOf = (reader: Reader): Omit<SimulatedValidator, 'balance' | 'score' | 'previous' | 'current'> => ({
  ...{ pubkey: reader.hex(48), depositor: '', credentials: reader.hex(32), effective: reader.gwei() },
  ...{ slashed: reader.flag(), eligible: reader.epoch(), activation: reader.epoch() },
  ...{ exit: reader.epoch(), withdrawable: reader.epoch() },
})

function depositOf(reader: Reader): SimulatedPendingDeposit {
  const deposit = { pubkey: reader.hex(48), credentials: reader.hex(32), depositor: '', gwei: reader.gwei() }
  const isExcess = reader.hex(96).startsWith('0xc0')
  return { ...deposit, slot: reader.number(), ...(isExcess && { isExcess }) }
}

function builderOf(reader: Reader): SimulatedBuilder {
  const pubkey = reader.hex(48)
  reader.flag()
  const [address, balance] = [reader.hex(20), reader.gwei()]
  return { pubkey, address, balance, depositEpoch: reader.number(), withdrawable: reader.epoch() }
}

const paymentOf = (reader: Reader): BuilderPayment => ({
  ...{ recipient: reader.hex(20), gwei: reader.gwei(), builder: reader.number() },
})

function pendingPaymentOf(reader: Reader): PendingPayment | undefined {
  const weight = reader.gwei()
  const payment = { ...paymentOf(reader), weight, proposer: reader.number(), slot: -1 }
  return payment.recipient === zeroAddress && payment.gwei === 0n ? undefined : payment
}

function withdrawalOf(reader: Reader) {
  const [index, validator] = [reader.number(), reader.gwei()]
  const isBuilder = (validator & builderFlag) !== 0n
  const account = { index, validator: Number(validator & ~builderFlag), ...(isBuilder && { isBuilder }) }
  return { ...account, address: reader.hex(20), amount: reader.gwei() }
}

function bidOf(reader: Reader): SimulatedBid {
  const hashes = { parentHash: reader.hex(32), parentRoot: reader.hex(32), blockHash: reader.hex(32) }
  const rest = { prevRandao: reader.hex(32), feeRecipient: reader.hex(20) }
  reader.number()
  const builder = reader.epoch()
  const amounts = { slot: reader.number(), value: reader.gwei(), executionPayment: reader.gwei() }
  reader.hex(4)
  return { ...hashes, ...rest, ...amounts, builder: builder === far ? 'self' : builder, requestsRoot: reader.hex(32) }
}

/** `next`: the position of the offset after that of the list; undefined for the last list. */
function listOf<T>(bytes: Buffer, at: number, next: number | undefined, size: number, of: (reader: Reader) => T): T[] {
  const from = bytes.readUInt32LE(at)
  const until = next === undefined ? bytes.length : bytes.readUInt32LE(next)
  const reader = new Reader(bytes, from)
  return Array.from({ length: (until - from) / size }, () => of(reader))
}

function gloasOf(bytes: Buffer, rules: ConsensusRules): ChainData['gloas'] {
  const at = gloasOffsets(rules)
  const { latestBlockHash, nextWithdrawal, churn, pendingDeposits } = electraOffsets(rules, 'gloas')
  const sweep = new Reader(bytes, nextWithdrawal)
  const limits = new Reader(bytes, churn + 8)
  const payments = new Reader(bytes, at.payments)
  const bits = bytes.subarray(at.nextBuilder + 8)
  const { slotsPerEpoch, historicalRoots } = rules
  return {
    builders: listOf(bytes, at.builders, at.builderWithdrawals, 93, builderOf),
    ...{ nextWithdrawal: sweep.number(), nextValidator: sweep.number() },
    nextBuilder: new Reader(bytes, at.nextBuilder).number(),
    availability: Array.from({ length: historicalRoots }, (_, bit) => (((bits[bit >> 3] ?? 0) >> (bit & 7)) & 1) === 1),
    payments: Array.from({ length: 2 * slotsPerEpoch }, () => pendingPaymentOf(payments)),
    builderWithdrawals: listOf(bytes, at.builderWithdrawals, at.latestBid, 36, paymentOf),
    bid: bidOf(new Reader(bytes, bytes.readUInt32LE(at.latestBid))),
    expected: listOf(bytes, at.expectedWithdrawals, undefined, 44, withdrawalOf),
    latestHash: new Reader(bytes, latestBlockHash).hex(32),
    partials: listOf(bytes, pendingDeposits + 4, pendingDeposits + 8, 24, (reader) => ({
      ...{ validator: reader.number(), gwei: reader.gwei(), withdrawable: reader.number() },
    })),
    ...{ depositGwei: limits.gwei(), exitGwei: limits.gwei(), exitEpoch: limits.number() },
    ...{ consolidationGwei: limits.gwei(), consolidationEpoch: limits.number() },
  }
}

export function chainFromState(bytes: Buffer, rules: ConsensusRules): ChainData {
  const at = stateOffsets(rules)
  const { pendingDeposits } = electraOffsets(rules, 'gloas')
  const count = (bytes.readUInt32LE(at.balances) - bytes.readUInt32LE(at.validators)) / 121
  const columnOf = (position: number) => new Reader(bytes, bytes.readUInt32LE(position))
  const [records, balances, scores] = [columnOf(at.validators), columnOf(at.balances), columnOf(at.scores)]
  const [previous, current] = [0, 4].map((more) => bytes.readUInt32LE(at.participation + more)) as [number, number]
  const slashings = new Reader(bytes, at.participation - 8 * rules.slashingsVector)
  const bits = bytes[at.participation + 8] as number
  const checkpoint = (nth: number) => new Reader(bytes, at.participation + 9 + nth * 40).number()
  return {
    ...freshChain(),
    validators: Array.from({ length: count }, (_, index) => ({
      ...{ ...validatorOf(records), balance: balances.gwei(), score: scores.gwei() },
      ...{ previous: bytes[previous + index] as number, current: bytes[current + index] as number },
    })),
    slashed: Array.from({ length: rules.slashingsVector }, () => slashings.gwei()),
    bits: [0, 1, 2, 3].map((bit) => ((bits >> bit) & 1) === 1),
    ...{ previousJustified: checkpoint(0), justified: checkpoint(1), finalized: checkpoint(2) },
    queue: listOf(bytes, pendingDeposits, pendingDeposits + 4, 192, depositOf),
    consolidations: listOf(bytes, pendingDeposits + 8, gloasOffsets(rules).builders, 16, (reader) => ({
      ...{ from: reader.number(), to: reader.number(), epoch: -1 },
    })),
    gloas: gloasOf(bytes, rules),
  }
}
