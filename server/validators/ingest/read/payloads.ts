// Since Gloas: reads payloads from their envelopes, and what each block deducts from balances.
import type { Block, Payload } from '#sources/beacon/block.ts'
import { BeaconError } from '#sources/beacon/client.ts'
import { type ConsensusRules, firstSlotAt } from '#sources/beacon/consensus.ts'
import { buildsOnPayload } from '#sources/beacon/payload-status.ts'
import { type BlockWithdrawals, type Deduction, findDeductions, noWithdrawals } from '../rules/deductions.ts'
import type { BeaconQueries } from './beacon-queries.ts'
import { chainOf, type EpochLinks } from './epoch.ts'
import type { NodeBlocks } from './node-blocks.ts'

/** Without the bytes of transactions, so that the response is not kept. */
export type PayloadSummary = Pick<Payload, 'feeRecipient' | 'baseFeeWei' | 'transactions'> & BlockWithdrawals

export interface EpochPayloads {
  /** By root of the block. Only those that were needed. */
  readonly payloads: ReadonlyMap<string, PayloadSummary>
  /** By slot: what the blocks between the first state of the epoch and the first state of the next one deduct. */
  readonly withdrawals: ReadonlyMap<number, BlockWithdrawals>
}

const envelopesAtOnce = 8
/** If no payload of an epoch is part of the chain, the one that pays its withdrawals is searched in as many epochs. */
const searchEpochs = 4

export class PayloadReader {
  readonly #rules: ConsensusRules
  /** By root of the block. */
  readonly #known = new Map<string, { readonly slot: number; readonly payload: PayloadSummary }>()

  constructor(rules: ConsensusRules) {
    this.#rules = rules
  }

  dropBefore(slot: number): void {
    for (const [root, known] of this.#known) if (known.slot < slot) this.#known.delete(root)
  }

  async read(
    queries: BeaconQueries,
    blocks: NodeBlocks,
    epoch: number,
    links: EpochLinks & { readonly blocks: readonly Block[] },
  ): Promise<EpochPayloads> {
    const withdrawals = new Map<number, BlockWithdrawals>()
    const deductions = findDeductions(chainOf(links), ...slotsBetweenStates(this.#rules, epoch))
    for (let at = 0; at < deductions.length; at += envelopesAtOnce) {
      const part = deductions.slice(at, at + envelopesAtOnce)
      const read = await Promise.all(part.map((deduction) => this.#readPaid(queries, blocks, deduction)))
      for (const [position, { block }] of part.entries())
        withdrawals.set(block.slot, read[position] as BlockWithdrawals)
    }
    return { payloads: new Map(Array.from(this.#known, ([root, { payload }]) => [root, payload])), withdrawals }
  }

  async #readPaid(
    queries: BeaconQueries,
    blocks: NodeBlocks,
    { block, payers, isOpen }: Deduction,
  ): Promise<BlockWithdrawals> {
    if (payers.length === 0) return noWithdrawals
    for (const payer of payers) {
      const payload = await this.#readOne(queries, payer)
      if (payload) return payload
    }
    const later = isOpen ? await this.#readAfter(queries, blocks, payers.at(-1) as Block) : undefined
    if (later) return later
    throw new BeaconError(`the node does not have the envelope of the payload of slot ${block.slot}`)
  }

  /** Payloads of later blocks have the same list, up to the first one that is part of the chain. */
  async #readAfter(queries: BeaconQueries, blocks: NodeBlocks, last: Block): Promise<BlockWithdrawals | undefined> {
    let block = last
    for (let count = 0; count < searchEpochs * this.#rules.slotsPerEpoch; count++) {
      const child = await blocks.findFrom(queries, block.slot + 1)
      if (!child || buildsOnPayload(child, block)) return undefined
      const payload = await this.#readOne(queries, child)
      if (payload) return payload
      block = child
    }
    return undefined
  }

  async #readOne(queries: BeaconQueries, block: Block): Promise<PayloadSummary | undefined> {
    const known = this.#known.get(block.root)
    if (known) return known.payload
    const envelope = await queries.envelope(block)
    if (!envelope) return undefined
    const { feeRecipient, baseFeeWei, transactions, withdrawals, builderWithdrawals = [] } = envelope.payload
    const payload = { feeRecipient, baseFeeWei, transactions, withdrawals, builderWithdrawals }
    this.#known.set(block.root, { slot: block.slot, payload })
    return payload
  }
}

/** A state includes the block of its slot: the first block of an epoch is between the states of the epoch before. */
const slotsBetweenStates = (rules: ConsensusRules, epoch: number): [from: number, until: number] => [
  firstSlotAt(rules, epoch) + 1,
  firstSlotAt(rules, epoch + 1) + 1,
]
