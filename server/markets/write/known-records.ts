// What this process knows about stored records: source records that would change only fast values. Their other fields are
// neither converted nor compared with the stored ones, which takes most of the time of a write.
//
// 1. A record is known by a hash of its other fields and links. Several may be known for one record, because feeds have
//    different forms of it.
// 2. Nothing is known any more about a record that has a version of another write, or about any record if a write changed
//    only fields without a version, or if versions were lost, as in a failover.
// 3. A write learns after its commit, so a write that fails teaches nothing.
import { hash } from 'node:crypto'
import type { StateReader } from '#storage/state.ts'
import type { KindName } from '../records/kinds.ts'
import type { FieldProblem } from '../records/normalize.ts'
import { ValueCache } from './value-cache.ts'

/** Forms that are known of one record. */
const formsMax = 4
/** About 300 bytes each. */
const recordsMax = 500_000
/** Differences from the contract that are known; a source has the same ones in many records. */
const driftsMax = 1000
/** Versions that are read before everything is forgotten. */
const versionsMax = 5000

export interface KnownRecord {
  readonly number: number | null
  /** By the hash of the form. */
  readonly forms: ReadonlyMap<string, readonly FieldProblem[]>
  /** The newest version when it was learned. */
  readonly seq: number
}

/** A form that was compared with the stored record. */
export interface LearnedForm {
  readonly kind: KindName
  readonly id: string
  readonly number: number | null
  readonly form: string
  readonly drift: readonly FieldProblem[]
  /** It has changed the record, so no other form is known. */
  readonly isNew: boolean
  /** A fast value cannot be used as it is. */
  readonly isOdd: boolean
}

export const hashForm = (text: string): string => hash('sha1', text, 'base64')

interface Head {
  readonly extras: number
  /** The newest version of market_versions. */
  readonly seq: number
  readonly atMs: number
}

export class KnownRecords {
  readonly values = new ValueCache()
  readonly #records = new Map<string, KnownRecord>()
  readonly #drifts = new Map<string, readonly FieldProblem[]>()
  #head: Head | undefined
  #learnedSeq = 0

  get(kind: KindName, id: string): KnownRecord | undefined {
    return this.#records.get(`${kind}/${id}`)
  }

  /** Forgets what other writes have changed. Call it in the transaction of a write. */
  async follow(tx: StateReader): Promise<void> {
    const rows = await tx.all<{ seq: number; atMs: number; kind: KindName; id: string; extras: number }>(
      `select v.seq, v.at_ms as "atMs", v.kind, v.id, r.extras from market_revision r
       left join market_versions v on v.seq >= ? order by v.seq limit ?`,
      ...[this.#head?.seq ?? Number.MAX_SAFE_INTEGER, versionsMax],
    )
    const [first] = rows
    const isSame = this.#head && first?.seq === this.#head.seq && first.atMs === this.#head.atMs
    if (!isSame || first.extras !== this.#head?.extras || rows.length === versionsMax) return this.#startAnew(tx)
    for (const { kind, id, seq } of rows.slice(1))
      if (seq > (this.get(kind, id)?.seq ?? seq)) this.#records.delete(`${kind}/${id}`)
    const last = rows.at(-1) ?? first
    this.#head = { extras: first.extras, seq: last.seq, atMs: last.atMs }
  }

  async #startAnew(tx: StateReader): Promise<void> {
    this.#records.clear()
    this.#drifts.clear()
    this.#learnedSeq = 0
    this.#head = await tx.get<Head>(
      `select r.extras, v.seq, v.at_ms as "atMs" from market_revision r, market_versions v order by v.seq desc limit 1`,
    )
  }

  /** `seq`: the newest version of the write. */
  learn(learned: readonly LearnedForm[], seq: number, extras: number): void {
    if (!this.#head) return
    // A later write has already taught what it found.
    const isLate = seq < this.#learnedSeq
    this.#learnedSeq = Math.max(this.#learnedSeq, seq)
    for (const { kind, id, number, form, drift, isNew, isOdd } of learned) {
      const name = `${kind}/${id}`
      const shared = this.#shareDrift(drift)
      if (isLate || isOdd || !shared || this.#records.size >= recordsMax) {
        this.#records.delete(name)
        continue
      }
      const forms = new Map(isNew ? [] : this.#records.get(name)?.forms)
      if (forms.size >= formsMax) forms.clear()
      this.#records.set(name, { number, forms: forms.set(form, shared), seq })
    }
    if (extras > 0) this.#head = { ...this.#head, extras: this.#head.extras + extras }
  }

  /** Undefined: there are too many. */
  #shareDrift(drift: readonly FieldProblem[]): readonly FieldProblem[] | undefined {
    const name = drift.map(({ field, problem }) => `${problem} ${field}`).join('\n')
    if (!this.#drifts.has(name) && this.#drifts.size < driftsMax) this.#drifts.set(name, drift)
    return this.#drifts.get(name)
  }
}
