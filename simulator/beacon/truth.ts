// The expected result of ingesting a simulated network: the measures of every validator by epoch (docs/methodology.md),
// and which kinds of events happened.
import type { Measure } from '#validators/method/measures.ts'
import type { BuilderIndex } from './gloas/gloas-records.ts'

export type TruthRow = Partial<Record<Measure, number>>

/** A block since Gloas. */
export interface ProposalTruth {
  readonly slot: number
  readonly epoch: number
  readonly proposer: number
  readonly builder: BuilderIndex
  /** Gwei of the bid. */
  readonly value: bigint
  /** The payload is part of the chain. */
  readonly isFull: boolean
  /** The builder paid, for the payload or because enough validators voted for the block. */
  isPaid: boolean
}

export class Truth {
  readonly #epochs = new Map<number, Map<number, TruthRow>>()
  readonly #kinds = new Map<string, number>()
  readonly #proposals = new Map<number, ProposalTruth>()

  add(epoch: number, validator: number, name: Measure, value: number | bigint): void {
    const row = this.row(epoch, validator)
    row[name] = (row[name] ?? 0) + Number(value)
  }

  /** Adds an empty row if there is none. */
  row(epoch: number, validator: number): TruthRow {
    return this.#epochs.getOrInsertComputed(epoch, () => new Map()).getOrInsertComputed(validator, () => ({}))
  }

  rows(epoch: number): ReadonlyMap<number, TruthRow> {
    return this.#epochs.get(epoch) ?? new Map()
  }

  /** Counts an event, such as a leak or a vote for an orphan. */
  note(kind: string): void {
    this.#kinds.set(kind, (this.#kinds.get(kind) ?? 0) + 1)
  }

  kinds(): ReadonlyMap<string, number> {
    return this.#kinds
  }

  addProposal(proposal: ProposalTruth): void {
    this.#proposals.set(proposal.slot, proposal)
  }

  setPaid(slot: number): void {
    const proposal = this.#proposals.get(slot)
    if (proposal) proposal.isPaid = true
  }

  /** The blocks since Gloas, by slot. */
  proposals(): ReadonlyMap<number, Readonly<ProposalTruth>> {
    return this.#proposals
  }

  /** Bounds the memory of a simulation without end. */
  forgetBefore(epoch: number): void {
    for (const at of this.#epochs.keys()) if (at < epoch) this.#epochs.delete(at)
    for (const [slot, proposal] of this.#proposals) if (proposal.epoch < epoch) this.#proposals.delete(slot)
  }
}
