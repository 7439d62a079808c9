// The execution payloads of simulated blocks and their rewards. A builder makes most blocks: it gets the fees and pays
// the proposer with one of the last transactions.
import type { SeededRandom } from '../seeded-random.ts'
import type { SimulatedPayload, SimulatedTransaction } from './records.ts'
import type { Truth } from './truth.ts'

const gwei = 1_000_000_000n
const builders = ['b1', 'b2'].map((byte) => `0x${byte.repeat(20)}`)
/** Some builders pay from another account than the fee recipient. */
const wallet = `0x${'b3'.repeat(20)}`

interface PayloadInput {
  readonly slot: number
  readonly number: number
  /** The address to which the proposer's rewards go. */
  readonly owner: string
  readonly prevRandao: string
  /** Probability that it has no transactions. */
  readonly emptyPayloads: number
}

export function makePayload(input: PayloadInput, draws: SeededRandom): SimulatedPayload {
  const builder = draws.happens(0.6) ? draws.pick(builders) : undefined
  const count = draws.happens(input.emptyPayloads) ? 0 : draws.whole(1, 5)
  const payer = builder && draws.happens(0.3) ? wallet : builder
  return fillPayload(input, { builder, payer, count }, draws)
}

/** Since Gloas. `builder`: its address; undefined if the proposer builds the payload. */
export function makeBidPayload(
  input: PayloadInput,
  { builder, executionPayment }: { readonly builder: string | undefined; readonly executionPayment: bigint },
  draws: SeededRandom,
): SimulatedPayload {
  const pays = builder !== undefined && executionPayment > 0n
  const count = draws.happens(input.emptyPayloads) && !pays ? 0 : draws.whole(1, 5)
  const payer = pays ? (draws.happens(0.3) ? wallet : builder) : undefined
  return fillPayload(input, { builder, payer, count, paymentWei: executionPayment * gwei }, draws)
}

function fillPayload(
  { slot, number, owner, prevRandao }: PayloadInput,
  {
    builder,
    payer,
    count,
    paymentWei,
  }: { builder: string | undefined; payer: string | undefined; count: number; paymentWei?: bigint },
  draws: SeededRandom,
): SimulatedPayload {
  const refunds = builder !== undefined && count > 2 && draws.happens(0.2) ? 1 : 0
  const transactions = Array.from({ length: count }, (_, at): SimulatedTransaction => {
    const isPayment = payer !== undefined && at === count - 1 - refunds
    // A block without a builder may end with a transfer from its owner.
    const isOwn = builder === undefined && at === count - 1 && draws.happens(0.3)
    const drawn = {
      hash: `0x${draws.hex(64)}`,
      from: isPayment ? payer : isOwn ? owner : `0x${draws.hex(40)}`,
      to: isPayment ? owner : `0x${draws.hex(40)}`,
      valueWei: BigInt(draws.whole(1_000_000, 90_000_000)) * gwei + BigInt(draws.whole(0, 999)),
      gasUsed: BigInt(draws.whole(21_000, 900_000)),
      tipWei: isPayment ? 0n : BigInt(draws.whole(1, 9_000)) * 10_000_000n,
      input: isPayment || isOwn || draws.happens(0.5) ? '0x' : '0xa9059cbb',
      isPayment,
    }
    return isPayment && paymentWei !== undefined ? { ...drawn, valueWei: paymentWei } : drawn
  })
  return {
    hash: `0x${draws.hex(56)}${slot.toString(16).padStart(8, '0')}`,
    number,
    feeRecipient: builder ?? owner,
    prevRandao,
    baseFeeWei: BigInt(draws.whole(1, 40)) * gwei + 7n,
    transactions,
  }
}

/** Whole gwei. */
export interface PaidRewards {
  readonly fees: bigint
  readonly mev: bigint
  readonly external: bigint
}

/**
 * With a builder, the payment covers the fees first, and the rest is MEV. Undefined if the rewards are unknown: the
 * proposer has no withdrawal address, and the block ends with a transfer that may be a payment. `bidGwei`: what a builder
 * pays outside of the payload, since Gloas.
 */
export function paidBy(
  { transactions }: SimulatedPayload,
  hasAddress: boolean,
  bidGwei?: bigint,
): PaidRewards | undefined {
  const fees = transactions.reduce((sum, { gasUsed, tipWei }) => sum + gasUsed * tipWei, 0n) / gwei
  const payment = transactions.find(({ isPayment }) => isPayment)
  if (!hasAddress && transactions.at(-1)?.input === '0x') return undefined
  if (bidGwei === undefined && (!payment || !hasAddress)) return { fees, mev: 0n, external: 0n }
  const paid = (bidGwei ?? 0n) + (payment?.valueWei ?? 0n) / gwei
  return paid < fees ? { fees: paid, mev: 0n, external: paid } : { fees, mev: paid - fees, external: paid }
}

/** The hash of a payload ends with its slot, so that no index is needed to find it. */
export const slotIn = (hash: string): number => Number.parseInt(hash.slice(-8), 16)

export function writePaid(truth: Truth, epoch: number, proposer: number, paid: PaidRewards | undefined): void {
  if (!paid) {
    truth.add(epoch, proposer, 'execution_unknown', 1)
    truth.note('payment to an unknown address')
    return
  }
  truth.add(epoch, proposer, 'priority_fee', paid.fees)
  truth.add(epoch, proposer, 'baseline_mev', paid.mev)
  truth.add(epoch, proposer, 'external_reward', paid.external)
  if (paid.external > 0n) truth.note('payment of a builder')
}
