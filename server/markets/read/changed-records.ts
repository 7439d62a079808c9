// Finds which records have changed since a version, so that only the documents that show them are composed again.
import type { StateReader } from '#storage/state.ts'
import { mayChangeOneOf } from '../records/diff-records.ts'
import type { KindName } from '../records/kinds.ts'
import { unpackBlocks } from '../ticks/commit-blocks.ts'
import { bitOf, blockOf } from '../ticks/packed-lines.ts'
import { hasHead, readHistoryHead } from './versions.ts'

export interface Revision {
  readonly seq: number
  readonly atMs: number
}

/** What a document shows: its records, and the numbers of those with fast values. */
export interface ShownRecords {
  readonly names: ReadonlySet<string>
  readonly numbers: readonly number[]
}

export interface Changes {
  readonly from: Revision | undefined
  readonly head: Revision
  /** Whether a document that shows these records may have changed. */
  readonly mayChange: (shown: ShownRecords) => boolean
}

/** Beyond it, every document counts as changed. */
const versionsMax = 500
const commitsMax = 500
/**
 * Of another record, they change which market a slug finds (slug-precedence.ts), or what documents show without the record
 * (kinds.ts). So does a market that is new, vanishes or returns.
 */
const sharedFields = ['slug', 'pastSlugs', 'question', 'title', 'events', 'series']

/** The reader needs one snapshot. */
export async function readChanges(reader: StateReader, from: Revision | undefined): Promise<Changes> {
  const { seq, atMs, horizonSeq } = await readHistoryHead(reader)
  const head = { seq, atMs }
  const isKnown = from && from.seq <= seq && from.seq >= horizonSeq && (await hasHead(reader, from))
  const changed = isKnown ? await readChanged(reader, from.seq) : undefined
  return { from, head, mayChange: changed ?? (() => true) }
}

/** Undefined: too many records have changed, or others than those with these versions. */
async function readChanged(reader: StateReader, since: number): Promise<Changes['mayChange'] | undefined> {
  const versions = await reader.all<{ kind: KindName; id: string; changeType: string; diff: string }>(
    'select kind, id, change_type as "changeType", diff from market_versions where seq > ? order by seq limit ?',
    ...[since, versionsMax],
  )
  const isShared = versions.some(
    ({ changeType, diff }) => changeType !== 'changed' || mayChangeOneOf(diff, sharedFields),
  )
  if (isShared || versions.length === versionsMax) return undefined
  const commits = await reader.all<{ afterSeq: number; blocks: Uint8Array }>(
    'select after_seq as "afterSeq", blocks from market_commits where seq > ? order by seq limit ?',
    ...[since, commitsMax],
  )
  if (commits.length === commitsMax) return undefined
  const ticks = await reader.all<{ block: number; slots: number }>(
    'select block, slots from market_ticks where seq > ?',
    since,
  )
  // Fewer: some have been merged.
  if (ticks.length !== commits.reduce((sum, commit) => sum + unpackBlocks(commit).length, 0)) return undefined
  const names = new Set(versions.map(({ kind, id }) => `${kind}/${id}`))
  const slots = Map.groupBy(ticks, ({ block }) => block)
  const hasTick = (number: number) =>
    slots.get(blockOf(number))?.some((row) => Math.floor(row.slots / bitOf(number)) % 2 === 1) === true
  return (shown) => !names.isDisjointFrom(shown.names) || shown.numbers.some(hasTick)
}
