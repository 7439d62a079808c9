// Rewards and penalties for the signatures of the sync committee in a block.
import { eth } from './amounts.ts'
import type { SlotContext } from './behaviour.ts'
import type { ChainState } from './chain.ts'

/** `bits`: by seat, whether it signed. Returns the reward of the proposer, and that of a seat. */
export function applySync(
  chain: ChainState,
  { slot, epoch, proposer }: Pick<SlotContext, 'slot' | 'epoch' | 'proposer'>,
  seats: readonly number[],
  bits: readonly boolean[],
): { readonly gwei: bigint; readonly seat: bigint } {
  const { truth, plan } = chain
  const all = chain.perIncrement(epoch) * (chain.totalActive(epoch) / eth)
  const seat = (all * 2n) / 64n / BigInt(plan.slotsPerEpoch) / BigInt(plan.syncSeats)
  const share = (seat * 8n) / 56n
  let gwei = 0n
  seats.forEach((validator, at) => {
    const signed = bits[at] === true
    const applied = chain.earn(validator, signed ? seat : -seat, slot)
    if (signed) {
      gwei += share
      truth.add(epoch, validator, 'sync_signatures', 1)
      truth.add(epoch, validator, 'sync_reward', seat)
    } else {
      truth.add(epoch, validator, 'sync_penalty', applied)
      truth.add(epoch, validator, 'missed_sync_reward', seat)
    }
  })
  chain.earn(proposer, gwei, slot)
  truth.add(epoch, proposer, 'block_reward', gwei)
  return { gwei, seat }
}
