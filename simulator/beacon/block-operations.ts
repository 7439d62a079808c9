// What blocks bring beside votes, carried out on the chain: slashings, exits, consolidations, deposits, withdrawals.
import type { SeededRandom } from '../seeded-random.ts'
import type { BlockOperations, SlotContext } from './behaviour.ts'
import { type ChainState, eth, far } from './chain.ts'
import type { Identity, SimBlock, SimDeposit } from './records.ts'

/** Withdrawals in a block, at most. */
const withdrawalsMax = 3

export type AppliedSlashings = Pick<SimBlock, 'proposerSlashings' | 'attesterSlashings'> & { readonly gwei: bigint }

export function applySlashings(
  chain: ChainState,
  { proposer, slot, epoch }: SlotContext,
  operations: BlockOperations,
  draws: SeededRandom,
): AppliedSlashings {
  let gwei = 0n
  const punish = (indices: readonly number[]) => {
    const guilty = [...new Set(indices)].filter((index) => !chain.at(index).slashed)
    for (const index of guilty.sort((a, b) => a - b)) gwei += chain.slash(index, proposer, slot)
    return guilty
  }
  const proposerSlashings = punish(operations.proposerSlashings)
  // Found before the next ones are punished: one that was slashed before may stand in both votes of a proof.
  const old = chain.validators.findIndex(({ slashed }) => slashed)
  const both = punish(operations.attesterSlashings)
  if (both.length === 0) return { proposerSlashings, attesterSlashings: [], gwei }
  // Others stand in one of the two votes only.
  const [lone, other] = draws.shuffled(chain.active(epoch)).filter((index) => !both.includes(index))
  const rising = (indices: readonly (number | undefined)[]) =>
    [...new Set(indices.filter((index) => index !== undefined && index >= 0) as number[])].sort((a, b) => a - b)
  const proof = { first: rising([...both, lone, old]), second: rising([...both, other, old]) }
  return { proposerSlashings, attesterSlashings: [proof], gwei }
}

/** Tells the payments into the deposit contract. Before Electra the block carries them itself, later they wait in a queue. */
export function applyOperations(
  chain: ChainState,
  { slot, epoch }: Pick<SlotContext, 'slot' | 'epoch'>,
  { exits, consolidations, deposits }: BlockOperations,
  newValidator: () => Identity,
): Omit<SimDeposit, 'block'>[] {
  const isWell = (index: number) => !chain.at(index).slashed
  const isElectra = chain.isFrom('electra', epoch)
  for (const index of exits.filter(isWell)) chain.beginExit(index, epoch)
  if (isElectra)
    chain.data.consolidations.push(...consolidations.filter(({ to }) => isWell(to)).map((one) => ({ ...one, epoch })))
  return deposits.flatMap(({ validator, gwei, from }) => {
    const isNew = validator === 'new'
    if (!isNew && !isWell(validator)) return []
    const { pubkey, credentials, depositor } = isNew ? newValidator() : chain.at(validator)
    const who = { pubkey, credentials, depositor }
    if (isElectra) chain.data.queue.push({ ...who, gwei, slot })
    else if (isNew) chain.enter(who, gwei, far)
    else chain.at(validator).balance += gwei
    return [{ pubkey, credentials, gwei, from: from ?? depositor }]
  })
}

export function withdraw(chain: ChainState, epoch: number, draws: SeededRandom): SimBlock['withdrawals'] {
  if (!chain.isFrom('capella', epoch)) return []
  const isElectra = chain.isFrom('electra', epoch)
  const due = chain.validators.flatMap(({ balance, credentials, withdrawable }, index) => {
    // One that compounds keeps what it earns.
    const need = isElectra && credentials.startsWith('0x02') ? 2048n * eth : 32n * eth
    const excess = withdrawable <= epoch ? balance : balance - need
    return excess > 0n && !credentials.startsWith('0x00') ? [{ validator: index, amount: excess }] : []
  })
  const chosen = draws.shuffled(due).slice(0, withdrawalsMax)
  for (const { validator, amount } of chosen) chain.at(validator).balance -= amount
  return chosen
}
