// Reads epochs from computed states (computed-states.ts). `read` returns an epoch only after the computed states call it and
// the two epochs after it final. What `pendingUpTo` returns has it as the branch of the newest block does.
import { firstSlotAt } from '#sources/beacon/consensus.ts'
import type { EpochStart } from '../../chain/epoch-start.ts'
import { ComputedStates, type ComputedStatesSource } from './computed-states.ts'
import type { EpochData } from './epoch.ts'
import type { EpochSource, PendingEpochs } from './epoch-source.ts'

export class ComputedEpochs implements EpochSource {
  readonly #source: ComputedStatesSource
  readonly states: ComputedStates

  constructor(source: ComputedStatesSource) {
    this.#source = source
    this.states = new ComputedStates(source)
  }

  withSignal(signal: AbortSignal): this {
    this.states.setSignal(signal)
    return this
  }

  async read(epoch: number): Promise<EpochData> {
    await this.states.requireFinal(epoch + 2)
    await this.states.requireAgreement(epoch + 2)
    return this.#dataOf(epoch)
  }

  /** Epochs on the branch of the newest block. */
  async pendingUpTo(headSlot: number, first: number): Promise<PendingEpochs> {
    await this.states.advanceTo(headSlot, first)
    const branch = this.states.blocks.branch()
    return {
      read: async (epoch) => this.#dataOf(epoch),
      blocksFrom: (from) => branch.filter(({ slot }) => slot >= from),
    }
  }

  #dataOf(epoch: number): EpochData {
    const { rules } = this.#source.chain
    const [now, next] = [this.#start(epoch), this.#start(epoch + 1)]
    const branch = this.states.blocks.branch()
    const [first, end] = [firstSlotAt(rules, epoch), firstSlotAt(rules, epoch + 2)]
    const blocks = branch.filter(({ slot }) => slot >= first && slot < end)
    const parent =
      blocks[0]?.bid && blocks[0].slot > first ? branch.find(({ root }) => root === blocks[0]?.parentRoot) : undefined
    const hasNext = blocks.some(({ slot }) => slot >= firstSlotAt(rules, epoch + 1))
    const child = hasNext ? undefined : branch.find(({ slot }) => slot >= end)
    return {
      ...{ epoch, blocks },
      ...(parent && { parent }),
      ...(child && { child }),
      proposers: now.proposers,
      committees: now.committees,
      sync: { now: now.sync, next: next.sync },
      atStart: now.validators,
      atEnd: next.validators,
      withdrawals: new Map(
        blocks.flatMap(({ root, slot }) => {
          const found = this.states.withdrawalsOf(root)
          return found ? [[slot, found] as const] : []
        }),
      ),
      finalizedEpoch: this.#start(epoch + 2).finalized.epoch,
    }
  }

  #start = (epoch: number): EpochStart => this.states.start(epoch)
}
