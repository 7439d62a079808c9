// The execution side of a block: its transactions, and what they bring the proposer. A builder makes most blocks, takes the
// fees and pays the proposer with the last transaction.
import type { Chance } from '../chance.ts'
import type { Ledger } from './ledger.ts'
import type { SimPayload, SimTransaction } from './records.ts'

const gwei = 1_000_000_000n
const builders = ['b1', 'b2'].map((byte) => `0x${byte.repeat(20)}`)
export function makePayload(
  { slot, number, owner }: { slot: number; number: number; owner: string },
  draws: Chance,
): SimPayload {
  const builder = draws.happens(0.6) ? draws.pick(builders) : undefined
  const count = draws.happens(0.12) ? 0 : draws.whole(1, 5)
  const transactions = Array.from({ length: count }, (_, at): SimTransaction => {
    const isPayment = builder !== undefined && at === count - 1
    return {
      hash: `0x${draws.hex(64)}`,
      from: isPayment ? builder : `0x${draws.hex(40)}`,
      to: isPayment ? owner : `0x${draws.hex(40)}`,
      valueWei: BigInt(draws.whole(1_000_000, 90_000_000)) * gwei + BigInt(draws.whole(0, 999)),
      gasUsed: BigInt(draws.whole(21_000, 900_000)),
      tipWei: isPayment ? 0n : BigInt(draws.whole(1, 9_000)) * 10_000_000n,
    }
  })
  return {
    hash: `0x${draws.hex(56)}${slot.toString(16).padStart(8, '0')}`,
    number,
    feeRecipient: builder ?? owner,
    baseFeeWei: BigInt(draws.whole(1, 40)) * gwei + 7n,
    transactions,
  }
}

/** Whole gwei. With a builder, fees count as far as the payment covers them, and the rest of it is extracted value. */
export function paidBy({ transactions, feeRecipient }: SimPayload): { fees: bigint; mev: bigint; external: bigint } {
  const fees = transactions.reduce((sum, { gasUsed, tipWei }) => sum + gasUsed * tipWei, 0n) / gwei
  const last = transactions.at(-1)
  if (last?.from !== feeRecipient) return { fees, mev: 0n, external: 0n }
  const payment = last.valueWei / gwei
  return payment < fees
    ? { fees: payment, mev: 0n, external: payment }
    : { fees, mev: payment - fees, external: payment }
}

/** A payload's hash ends with its slot, so that it is found again without an index. */
export const slotIn = (hash: string): number => Number.parseInt(hash.slice(-8), 16)

export function writePayload(ledger: Ledger, epoch: number, proposer: number, payload: SimPayload): void {
  const { fees, mev, external } = paidBy(payload)
  ledger.add(epoch, proposer, 'priority_fee', fees)
  ledger.add(epoch, proposer, 'baseline_mev', mev)
  ledger.add(epoch, proposer, 'external_reward', external)
  if (external > 0n) ledger.note('payment of a builder')
}
