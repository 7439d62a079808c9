// Expected rewards of proposals: the execution rewards of blocks, and what missed proposals would have earned
// (docs/methodology.md).
import type { ChainState } from './chain.ts'
import { type PaidRewards, paidBy, writePaid } from './payload.ts'
import type { Identity, SimulatedBlock } from './records.ts'

/** Undefined for BLS credentials. */
export const withdrawalAddress = ({ credentials }: Pick<Identity, 'credentials'>): string | undefined =>
  /^0x0[12]/.test(credentials) ? `0x${credentials.slice(26)}` : undefined

/** The proposals of an epoch. Since Gloas, payments of builders are not certain before the end of the next epoch. */
interface EpochProposals {
  readonly epoch: number
  readonly proposers: readonly number[]
  /** By slot. */
  readonly blocks: ReadonlyMap<number, SimulatedBlock>
  /** By slot: the proposer had a withdrawal address. */
  readonly addressed: ReadonlySet<number>
}

const mean = (amounts: readonly bigint[]): bigint =>
  amounts.length === 0 ? 0n : amounts.reduce((sum, gwei) => sum + gwei, 0n) / BigInt(amounts.length)

/** The missed reward of a missing block is the mean reward of the epoch's blocks. */
export class ProposalRewards {
  readonly #chain: ChainState
  /** Epochs since Gloas whose payments are not certain. Only expected figures depend on it, so it is not saved. */
  readonly #unsettled: EpochProposals[] = []
  #addressed = new Set<number>()

  constructor(chain: ChainState) {
    this.#chain = chain
  }

  addBlock({ slot, proposer, payload, gloas }: SimulatedBlock, epoch: number): void {
    const { truth, plan } = this.#chain
    truth.add(epoch, proposer, 'proposed', 1)
    if (!this.#chain.isFrom('bellatrix', epoch)) return
    const hasAddress = withdrawalAddress(this.#chain.at(proposer)) !== undefined
    if (hasAddress) this.#addressed.add(slot)
    if (!gloas) {
      if (payload.transactions.length === 0) truth.add(epoch, proposer, 'proposed_empty', 1)
      if (plan.hasExecution) writePaid(truth, epoch, proposer, paidBy(payload, hasAddress))
      return
    }
    const { builder, value } = gloas.bid
    const isFull = gloas.delivery === 'full'
    truth.addProposal({ slot, epoch, proposer, builder, value, isFull, isPaid: false })
    if (!isFull && builder === 'self') truth.add(epoch, proposer, 'proposed_empty', 1)
  }

  /** After the last slot of an epoch. */
  endEpoch(epoch: number, proposers: readonly number[], blocks: ReadonlyMap<number, SimulatedBlock>): void {
    const proposals = { epoch, proposers, blocks, addressed: this.#addressed }
    this.#addressed = new Set()
    this.#addMissedBlocks(proposals)
    if (!this.#chain.plan.hasExecution || !this.#chain.isFrom('bellatrix', epoch)) return
    if (this.#chain.data.gloas) this.#unsettled.push(proposals)
    else this.#addMissedExecution(proposals, [])
  }

  /** After the transition at the end of an epoch: the payments of the epoch before it are certain. */
  settle(ended: number): void {
    while (this.#unsettled[0] && this.#unsettled[0].epoch < ended) {
      const proposals = this.#unsettled.shift() as EpochProposals
      const unpaid: number[] = []
      for (const { slot, proposer } of proposals.blocks.values()) {
        const paid = this.#paidFor(proposals, slot)
        if (paid === 'nothing') unpaid.push(slot)
        else writePaid(this.#chain.truth, proposals.epoch, proposer, paid)
      }
      this.#addMissedExecution(proposals, unpaid)
    }
  }

  /** Undefined: it is not certain. `nothing`: there is neither a payload nor a payment. */
  #paidFor({ blocks, addressed }: EpochProposals, slot: number): PaidRewards | undefined | 'nothing' {
    const { payload, gloas } = blocks.get(slot) as SimulatedBlock
    const proposal = this.#chain.truth.proposals().get(slot)
    if (!gloas || !proposal) return paidBy(payload, addressed.has(slot))
    const { isFull, isPaid, builder, value } = proposal
    if (!isFull) return isPaid ? { fees: 0n, mev: value, external: value } : 'nothing'
    // The bid contains the address of the proposer.
    return paidBy(payload, true, builder === 'self' ? undefined : value)
  }

  #addMissedBlocks({ epoch, proposers, blocks }: EpochProposals): void {
    const rewards = [...blocks.values()].map(({ rewards: { votes, sync, slashings } }) => votes + sync + slashings)
    for (const { proposer } of this.#missing(epoch, proposers, blocks))
      this.#chain.truth.add(epoch, proposer, 'missed_block_reward', mean(rewards))
  }

  /** `unpaid`: slots of blocks since Gloas without payload and payment. */
  #addMissedExecution(proposals: EpochProposals, unpaid: readonly number[]): void {
    const { epoch, proposers, blocks } = proposals
    const known = [...blocks.keys()].flatMap((slot) => {
      const paid = this.#paidFor(proposals, slot)
      return paid && paid !== 'nothing' ? [paid.fees + paid.mev] : []
    })
    const missed = [
      ...this.#missing(epoch, proposers, blocks).map(({ proposer }) => proposer),
      ...unpaid.map((slot) => (blocks.get(slot) as SimulatedBlock).proposer),
    ]
    for (const proposer of missed) this.#chain.truth.add(epoch, proposer, 'missed_execution_reward', mean(known))
  }

  #missing(epoch: number, proposers: readonly number[], blocks: ReadonlyMap<number, SimulatedBlock>) {
    if (blocks.size === 0) return []
    return proposers
      .map((proposer, at) => ({ proposer, slot: epoch * proposers.length + at }))
      .filter(({ slot }) => slot > 0 && !blocks.has(slot))
  }
}
