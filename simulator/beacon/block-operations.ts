// Applies the operations of a block to the simulated chain: slashings, exits, consolidations, deposits, withdrawals.
import type { SeededRandom } from '../seeded-random.ts'
import { eth, far } from './amounts.ts'
import type { BlockOperations, SlotContext } from './behaviour.ts'
import type { ChainState } from './chain.ts'
import { newBuilder } from './gloas/build-block.ts'
import { dropPayment } from './gloas/builders.ts'
import { addressIn } from './gloas/withdrawals.ts'
import type { Identity, SimulatedBlock, SimulatedDeposit } from './records.ts'

const withdrawalsMax = 3
const zeroAddress = `0x${'00'.repeat(20)}`

export type AppliedSlashings = Pick<SimulatedBlock, 'proposerSlashings' | 'attesterSlashings' | 'slashedSlots'> & {
  readonly gwei: bigint
}

export function applySlashings(
  chain: ChainState,
  { proposer, slot, epoch }: SlotContext,
  operations: BlockOperations,
  draws: SeededRandom,
): AppliedSlashings {
  let gwei = 0n
  const slash = (indices: readonly number[]) => {
    const slashable = [...new Set(indices)].filter((index) => !chain.at(index).slashed)
    for (const index of slashable.sort((a, b) => a - b)) gwei += chain.slash(index, proposer, slot)
    return slashable
  }
  const slots = new Map(operations.proposerSlashings.map((index) => [index, slashedSlot(chain, index)]))
  const proposerSlashings = slash(operations.proposerSlashings)
  const slashedSlots = proposerSlashings.map((index) => slots.get(index) as number)
  if (chain.data.gloas)
    proposerSlashings.forEach((index, at) => {
      dropPayment(chain, slashedSlots[at] as number, index, epoch)
    })
  // Searched before the next slashings: both votes of a slashing may contain a validator that was slashed before.
  const slashedBefore = chain.validators.findIndex(({ slashed }) => slashed)
  const both = slash(operations.attesterSlashings)
  if (both.length === 0) return { proposerSlashings, slashedSlots, attesterSlashings: [], gwei }
  // These two are in one of the votes only.
  const [lone, other] = draws.shuffled(chain.active(epoch)).filter((index) => !both.includes(index))
  const ascending = (indices: readonly (number | undefined)[]) =>
    [...new Set(indices.filter((index) => index !== undefined && index >= 0) as number[])].sort((a, b) => a - b)
  const slashing = {
    first: ascending([...both, lone, slashedBefore]),
    second: ascending([...both, other, slashedBefore]),
  }
  return { proposerSlashings, slashedSlots, attesterSlashings: [slashing], gwei }
}

/** The slot of the two blocks for which a proposer is slashed: of its last block that a builder has not paid for. */
const slashedSlot = ({ data }: Pick<ChainState, 'data'>, index: number): number =>
  data.gloas?.payments.findLast((payment) => payment?.proposer === index)?.slot ?? 1

/** Returns the deposits. Before Electra they are applied at once; since Electra they are queued. */
export function applyOperations(
  chain: ChainState,
  { slot, epoch }: Pick<SlotContext, 'slot' | 'epoch'>,
  { exits, consolidations, deposits, builderDeposits }: BlockOperations,
  newValidator: () => Identity,
  draws: SeededRandom,
): Omit<SimulatedDeposit, 'block'>[] {
  const isUnslashed = (index: number) => !chain.at(index).slashed
  const isElectra = chain.isFrom('electra', epoch)
  for (const index of exits.filter(isUnslashed)) chain.beginExit(index, epoch)
  for (const { from, to } of isElectra ? consolidations.filter(({ to }) => isUnslashed(to)) : []) {
    chain.data.consolidations.push({ from, to, epoch })
    chain.data.consolidated.push(from)
  }
  // They become builders at the fork to Gloas.
  const ofBuilders = builderDeposits.map(({ gwei }) => {
    const identity = newBuilder(draws)
    chain.data.queue.push({ ...identity, depositor: addressIn(identity.credentials), gwei, slot })
    return { ...identity, gwei, from: addressIn(identity.credentials) }
  })
  const ofValidators = deposits.flatMap(({ validator, gwei, from }) => {
    const isNew = validator === 'new'
    if (!isNew && !isUnslashed(validator)) return []
    const { pubkey, credentials, depositor } = isNew ? newValidator() : chain.at(validator)
    const identity = { pubkey, credentials, depositor }
    if (isElectra) chain.data.queue.push({ ...identity, gwei, slot })
    else if (isNew) chain.enter(identity, gwei, far)
    else chain.at(validator).balance += gwei
    return [{ pubkey, credentials, gwei, from: from ?? depositor }]
  })
  return [...ofValidators, ...ofBuilders]
}

export function withdraw(chain: ChainState, epoch: number, draws: SeededRandom): SimulatedBlock['withdrawals'] {
  if (!chain.isFrom('capella', epoch)) return []
  const isElectra = chain.isFrom('electra', epoch)
  const due = chain.validators.flatMap(({ balance, credentials, withdrawable }, index) => {
    // Compounding validators keep their earnings.
    const need = isElectra && credentials.startsWith('0x02') ? 2048n * eth : 32n * eth
    const excess = withdrawable <= epoch ? balance : balance - need
    return excess > 0n && !credentials.startsWith('0x00')
      ? [{ index: 0, validator: index, address: zeroAddress, amount: excess }]
      : []
  })
  const chosen = draws.shuffled(due).slice(0, withdrawalsMax)
  for (const { validator, amount } of chosen) chain.at(validator).balance -= amount
  return chosen
}
