// Reads epochs from computed states (computed-states.ts). `read` returns an epoch only after the computed states call it and
// the two epochs after it final. `readPending` returns it as the branch of the newest block has it.
import { firstSlotAt } from '#sources/beacon/consensus.ts'
import type { EpochStart } from '../../chain/epoch-start.ts'
import { ComputedStates, type ComputedStatesSource } from './computed-states.ts'
import type { EpochData } from './epoch.ts'
import type { EpochSource, ReadEpoch } from './epoch-reader.ts'

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

  async read(epoch: number): Promise<ReadEpoch> {
    await this.states.requireFinal(epoch + 2)
    await this.states.requireAgreement(epoch + 2)
    return this.#epoch(epoch)
  }

  /** The epoch on the branch of the newest block, which must be two epochs later. */
  async readPending(epoch: number): Promise<ReadEpoch> {
    await this.states.advanceToHead(epoch)
    return this.#epoch(epoch)
  }

  #epoch(epoch: number): ReadEpoch {
    const data = this.#dataOf(epoch, epoch + 2)
    const { rules } = this.#source.chain
    const end = firstSlotAt(rules, epoch + 2)
    const child = data.blocks.some(({ slot }) => slot >= firstSlotAt(rules, epoch + 1))
      ? undefined
      : this.states.blocks.branch().find(({ slot }) => slot >= end)
    return {
      ...data,
      ...(child && { child }),
      boundary: { validators: data.atEnd, awaitsRewards: false },
      finalizedEpoch: this.#start(epoch + 2).finalized.epoch,
    }
  }

  async readAhead(epoch: number): Promise<Omit<EpochData, 'finalizedEpoch'>> {
    await this.states.requireFinal(epoch + 1)
    return this.#dataOf(epoch, epoch + 1)
  }

  /** `until`: epochs whose blocks are included, and the block of the next slot. */
  #dataOf(epoch: number, until: number): Omit<EpochData, 'finalizedEpoch'> {
    const { rules } = this.#source.chain
    const [now, next] = [this.#start(epoch), this.#start(epoch + 1)]
    const branch = this.states.blocks.branch()
    const first = firstSlotAt(rules, epoch)
    const end = firstSlotAt(rules, until) + (until === epoch + 1 ? 1 : 0)
    const blocks = branch.filter(({ slot }) => slot >= first && slot < end)
    const parent =
      blocks[0]?.bid && blocks[0].slot > first ? branch.find(({ root }) => root === blocks[0]?.parentRoot) : undefined
    return {
      ...{ epoch, blocks },
      ...(parent && { parent }),
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
    }
  }

  #start = (epoch: number): EpochStart => this.states.start(epoch)
}
