// One page of a list of markets or events, by offset or by cursor. Both have the same filters, order and records
// (behaviour/markets.md#lists).
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../context.ts'
import { getFeedCoverage } from '../feeds/feed-coverage.ts'
import { readCursor, writeCursor } from './list-input.ts'
import { findPage, type ListQuery } from './list-query.ts'
import { refuseCut } from './respond.ts'

export interface RecordList<Input> {
  readonly toQuery: (state: StateReader, input: Input) => Promise<ListQuery>
  /** Returns a JSON list. */
  readonly readRecords: (context: MarketsContext, ids: readonly string[], input: Input) => Promise<Uint8Array>
}

export async function readOffsetPage<Input extends { readonly offset: number; readonly limit: number }>(
  context: MarketsContext,
  { toQuery, readRecords }: RecordList<Input>,
  input: Input,
) {
  // Read the coverage first, so that it never includes more than the records.
  const coverage = await getFeedCoverage(context)
  const query = await toQuery(context.ingest.recent, input)
  const page = await findPage(context.ingest.recent, query, { offset: input.offset, limit: input.limit })
  refuseCut(page, input.limit)
  return { coverage, query, hasMore: page.next !== undefined, records: await readRecords(context, page.ids, input) }
}

/** `cursor` is that of the next page; undefined on the last one. */
export async function readCursorPage<Input extends { readonly limit: number; readonly after_cursor?: string }>(
  context: MarketsContext,
  { toQuery, readRecords }: RecordList<Input>,
  input: Input,
) {
  const coverage = await getFeedCoverage(context)
  const query = await toQuery(context.ingest.recent, input)
  const after = input.after_cursor === undefined ? undefined : readCursor(query, input.after_cursor)
  const { ids, next } = await findPage(context.ingest.recent, query, { offset: 0, limit: input.limit, after })
  return { coverage, cursor: next && writeCursor(query, next), records: await readRecords(context, ids, input) }
}
