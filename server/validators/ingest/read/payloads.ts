// Since Gloas: reads payloads from their envelopes, and what each block deducts from balances. What no envelope tells is
// computed from the state (../epochs/complete-withdrawals.ts).
import type { Block, Payload } from '#sources/beacon/block.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import { buildsOnPayload } from '#sources/beacon/payload-status.ts'
import { type BlockWithdrawals, type Deduction, findDeductions, noWithdrawals } from '../rules/deductions.ts'
import type { QuerySource } from './beacon-queries.ts'
import { chainOf, type EpochLinks } from './epoch.ts'
import type { LinkedBlocks } from './linked-blocks.ts'
import { StateSearch } from './states-not-found.ts'

/** Without the bytes of transactions, so that the response is not kept. */
export type PayloadSummary = Pick<Payload, 'feeRecipient' | 'baseFeeWei' | 'transactions'> & BlockWithdrawals

export interface EpochPayloads {
  /** By root of the block. Only those that were needed and that the node has. */
  readonly payloads: ReadonlyMap<string, PayloadSummary>
  /**
   * By slot: what the blocks between the first state of the epoch and the first state of the next one deduct. Blocks
   * before Gloas, and those that no envelope was found for, have no entry.
   */
  readonly withdrawals: ReadonlyMap<number, BlockWithdrawals>
  /** The requests for envelopes. Its error is thrown if withdrawals without an entry cannot be computed. */
  readonly envelopeSearch: StateSearch
}

const envelopesAtOnce = 8
/** If no payload of an epoch is part of the chain, the one that pays its withdrawals is searched in as many epochs. */
const searchEpochs = 4

export class PayloadReader {
  readonly #source: QuerySource
  readonly #blocks: LinkedBlocks
  /** By root of the block. */
  readonly #known = new Map<string, { readonly slot: number; readonly payload: PayloadSummary }>()

  constructor(source: QuerySource, blocks: LinkedBlocks) {
    this.#source = source
    this.#blocks = blocks
  }

  /** Keeps only what is needed to read this epoch and the next two. */
  keepFrom(epoch: number): void {
    const first = firstSlotAt(this.#source.rules, epoch)
    for (const [root, { slot }] of this.#known)
      if (slot < first || slot >= firstSlotAt(this.#source.rules, epoch + 3)) this.#known.delete(root)
  }

  /**
   * `blocks`: those of the epoch and further ones, in ascending order. `needsChild`: the payload of the last one is judged,
   * so its child must be known.
   */
  async of(epoch: number, blocks: readonly Block[], needsChild: boolean): Promise<EpochLinks> {
    const [first, last] = [blocks[0], blocks.at(-1)]
    if (!last?.bid) return {}
    const startsLate = first?.bid && first.slot > firstSlotAt(this.#source.rules, epoch)
    const parent = startsLate ? await this.#blocks.parentOf(first) : undefined
    const child = needsChild ? await this.#blocks.childOf(last) : undefined
    return { parent, child, ...(await this.#read(epoch, chainOf({ parent, blocks, child }))) }
  }

  async #read(epoch: number, chain: readonly Block[]): Promise<EpochPayloads> {
    const withdrawals = new Map<number, BlockWithdrawals>()
    const envelopeSearch = new StateSearch()
    const deductions = findDeductions(chain, ...slotsBetweenStates(this.#source.rules, epoch))
    // The first one alone: if it fails, the others are not requested, so the node is not asked for all of them in vain.
    for (let at = 0; at < deductions.length; ) {
      const part = deductions.slice(at, at === 0 ? 1 : at + envelopesAtOnce)
      at += part.length
      const read = await Promise.all(part.map((deduction) => this.#readPaid(deduction, envelopeSearch)))
      for (const [position, { block }] of part.entries()) {
        const found = read[position]
        if (found) withdrawals.set(block.slot, found)
      }
    }
    const payloads = new Map(Array.from(this.#known, ([root, { payload }]) => [root, payload]))
    return { payloads, withdrawals, envelopeSearch }
  }

  async #readPaid({ payers, isOpen }: Deduction, search: StateSearch): Promise<BlockWithdrawals | undefined> {
    if (payers.length === 0) return noWithdrawals
    for (const block of payers) {
      const payload = await this.#readOne(block, search)
      if (payload) return payload
    }
    return isOpen ? this.#readAfter(payers.at(-1) as Block, search) : undefined
  }

  /** Payloads of later blocks have the same list, up to the first one that is part of the chain. */
  async #readAfter(last: Block, search: StateSearch): Promise<BlockWithdrawals | undefined> {
    let block = last
    for (let count = 0; count < searchEpochs * this.#source.rules.slotsPerEpoch; count++) {
      const child = await this.#blocks.findChild(block)
      if (!child || buildsOnPayload(child, block)) return undefined
      const payload = await this.#readOne(child, search)
      if (payload) return payload
      block = child
    }
    return undefined
  }

  /** After a failure that lasts, no further envelopes of the epoch are requested: each would take all attempts. */
  async #readOne(block: Block, search: StateSearch): Promise<PayloadSummary | undefined> {
    const known = this.#known.get(block.root)
    if (known) return known.payload
    const envelope = search.hasFailed ? undefined : await search.result(this.#source.queries.envelope(block))
    if (!envelope) return undefined
    const { feeRecipient, baseFeeWei, transactions, withdrawals, builderWithdrawals = [] } = envelope.payload
    const payload = { feeRecipient, baseFeeWei, transactions, withdrawals, builderWithdrawals }
    this.#known.set(block.root, { slot: block.slot, payload })
    return payload
  }
}

/** A state includes the block of its slot: the first block of an epoch is between the states of the epoch before. */
export const slotsBetweenStates = (rules: ConsensusRules, epoch: number): [from: number, until: number] => [
  firstSlotAt(rules, epoch) + 1,
  firstSlotAt(rules, epoch + 1) + 1,
]
