// What validators and builders of a seeded network do since Gloas: bids, payloads that are late or withheld, and the
// requests of payloads. Some requests are not allowed, and the chain ignores them.

import { eth, far, least } from '#simulator/beacon/amounts.ts'
import { type BlockOperations, noOperations, type PayloadPlan, type SlotContext } from '#simulator/beacon/behaviour.ts'
import type { ChainState } from '#simulator/beacon/chain.ts'
import { bidMax, isActiveBuilder } from '#simulator/beacon/gloas/builders.ts'
import type { SeededRandom } from '#simulator/seeded-random.ts'

const milliEth = eth / 1000n

export function drawPayloadPlan(chain: ChainState, draws: SeededRandom): PayloadPlan {
  const delivery = draws.happens(0.7) ? 'full' : draws.pick(['late', 'withheld'] as const)
  const builders = [...chain.gloas.builders.keys()].filter((index) => isActiveBuilder(chain, index))
  if (builders.length === 0 || draws.happens(0.35))
    return { builder: 'self', value: 0n, executionPayment: 0n, delivery }
  const builder = draws.pick(builders)
  const value = least(BigInt(draws.whole(0, 8) * 40) * milliEth, bidMax(chain, builder))
  const executionPayment = value === 0n || draws.happens(0.3) ? BigInt(draws.whole(1, 90)) * milliEth : 0n
  return { builder, value, executionPayment, delivery }
}

interface OperationRates {
  readonly slashing: number
  readonly balanceChanges: number
}

/** `usable`: active validators that are not slashed. */
export function drawGloasOperations(
  { epoch, seated, proposer }: SlotContext,
  chain: ChainState,
  usable: readonly number[],
  { slashing, balanceChanges }: OperationRates,
  draws: SeededRandom,
): BlockOperations {
  const others = usable.filter((index) => index !== proposer)
  const canLeave = usable.length > stayingMin
  const awaitPayment = others.filter((index) => chain.gloas.payments.some((payment) => payment?.proposer === index))
  const slashes = () => canLeave && draws.happens(slashing)
  const staying = usable.filter((index) => chain.at(index).exit === far)
  const compounding = staying.filter((index) => chain.at(index).credentials.startsWith('0x02'))
  const some = <T>(draw: () => T | undefined): T[] => {
    const drawn = draws.happens(balanceChanges) ? draw() : undefined
    return drawn === undefined ? [] : [drawn]
  }
  const pickOf = (indices: readonly number[]) => (indices.length > 0 ? draws.pick(indices) : undefined)
  const wholeEth = (from: number, until: number) => BigInt(draws.whole(from, until)) * eth
  const { builders } = chain.gloas
  return {
    ...noOperations,
    // If possible, of a proposer that then loses the payment of a builder.
    proposerSlashings: slashes() ? [pickOf(awaitPayment) ?? draws.pick(others)] : [],
    attesterSlashings: slashes() ? draws.shuffled(others).slice(0, draws.whole(1, 3)) : [],
    exits: canLeave ? some(() => pickOf(staying)) : [],
    requestedExits: canLeave ? some(() => pickOf(staying)) : [],
    partialWithdrawals: some(() => {
      const validator = pickOf(compounding)
      return validator === undefined ? undefined : { validator, gwei: wholeEth(1, 9) }
    }),
    switches: some(() => pickOf(staying)),
    credentialsChanges: some(() => pickOf(usable.filter((index) => chain.at(index).credentials.startsWith('0x00')))),
    consolidations: some(() => {
      // A penalty of a sync committee member after its consolidation could not be told apart from it.
      const [from, to] = [pickOf(staying.filter((index) => !seated.has(index))), pickOf(compounding)]
      return canLeave && from !== undefined && to !== undefined && from !== to ? { from, to } : undefined
    }),
    deposits: some(() => {
      const validator = draws.happens(0.3) ? 'new' : pickOf(compounding)
      if (validator === undefined) return undefined
      return { validator, gwei: validator === 'new' ? 32n * eth : wholeEth(1, 60) }
    }),
    builderDeposits: some(() => {
      const builder = draws.happens(0.4) || builders.length === 0 ? 'new' : draws.whole(0, builders.length)
      return { builder, gwei: wholeEth(1, 4) }
    }),
    builderExits: epoch % 2 === 0 ? some(() => pickOf([...builders.keys()])) : [],
  }
}

/** There are no exits and slashings with fewer validators than this. */
const stayingMin = 20

/** In the last epoch before the fork, deposits of builders wait in the queue of validators. */
export const depositsBeforeFork = ({ epoch, isFirst }: SlotContext, chain: ChainState): BlockOperations => ({
  ...noOperations,
  builderDeposits:
    isFirst && epoch + 1 === chain.plan.forkEpochs.gloas
      ? [3n, 2n].map((amount) => ({ builder: 'new', gwei: amount * eth }))
      : [],
})
