// One page of a list of markets or events, by offset or by cursor. Both have the same filters, order and records
// (behaviour/markets.md#lists).
import { Fault } from '#core/fault.ts'
import type { StateReader } from '#storage/state.ts'
import type { MarketsContext } from '../../context.ts'
import { readWithCoverage } from '../../read/feed-coverage.ts'
import { findPage } from './find-page.ts'
import { readCursor, writeCursor } from './list-input.ts'
import type { ListQuery, PageRequest } from './list-query.ts'
import { refuseCut } from './respond.ts'

export interface RecordList<Input> {
  readonly toQuery: (input: Input) => ListQuery
  /** Returns a JSON list, or a fault if these records cannot be returned (feed-coverage.ts, `readWithCoverage`). */
  readonly readRecords: (reader: StateReader, ids: readonly string[], input: Input) => Promise<Uint8Array | Fault>
}

export async function readOffsetPage<Input extends { readonly offset: number; readonly limit: number }>(
  context: MarketsContext,
  list: RecordList<Input>,
  input: Input,
) {
  const { offset, limit } = input
  const { coverage, page, records } = await readPage(context, list, input, list.toQuery(input), { offset, limit })
  refuseCut(page, limit)
  return { coverage, records }
}

/** `cursor` is that of the next page; undefined on the last one. */
export async function readCursorPage<Input extends { readonly limit: number; readonly after_cursor?: string }>(
  context: MarketsContext,
  list: RecordList<Input>,
  input: Input,
) {
  const query = list.toQuery(input)
  const after = input.after_cursor === undefined ? undefined : readCursor(query, input.after_cursor)
  const request = { offset: 0, limit: input.limit, after }
  const { coverage, page, records } = await readPage(context, list, input, query, request)
  return { coverage, cursor: page.next && writeCursor(query, page.next), records }
}

async function readPage<Input>(
  context: MarketsContext,
  { readRecords }: RecordList<Input>,
  input: Input,
  query: ListQuery,
  request: PageRequest,
) {
  const { coverage, result } = await readWithCoverage(context, async (reader) => {
    const page = await findPage(reader, query, request)
    return { page, records: await readRecords(reader, page.ids, input) }
  })
  const { page, records } = result
  if (records instanceof Fault) throw records
  return { coverage, page, records }
}
