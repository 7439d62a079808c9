// One page of a list of markets or events, by offset or by cursor. Both have the same filters, order and records
// (behaviour/markets.md#lists).
import type { HandlerResult, RequestInfo } from '#http/handler.ts'
import type { MarketsContext } from '../../context.ts'
import { composePage } from './compose-page.ts'
import { findPage } from './find-page.ts'
import { readCursor, writeCursor } from './list-input.ts'
import type { ListQuery } from './list-query.ts'
import { readLists } from './read-lists.ts'
import { refuseCut, respondWith } from './respond.ts'

export interface RecordList<Input> {
  readonly kind: 'market' | 'event'
  readonly toQuery: (input: Input) => ListQuery
  /** compose-page.ts, `PageRequest`. */
  readonly isShort?: (input: Input) => boolean
}

export async function respondWithOffsetPage<Input extends { readonly offset: number; readonly limit: number }>(
  context: MarketsContext,
  request: RequestInfo,
  { kind, toQuery, isShort = () => false }: RecordList<Input>,
  input: Input,
): Promise<HandlerResult<never>> {
  const { offset, limit } = input
  const { coverage, result: page } = await readLists(context, (lists) =>
    findPage(lists, toQuery(input), { offset, limit }),
  )
  refuseCut(page, limit)
  const composed = await composePage(context, request, { kind, ids: page.ids, isShort: isShort(input) })
  return respondWith(context, request, coverage, composed)
}

/** `name`: the member that has the records. */
export async function respondWithCursorPage<Input extends { readonly limit: number; readonly after_cursor?: string }>(
  context: MarketsContext,
  request: RequestInfo,
  { kind, toQuery, isShort = () => false }: RecordList<Input>,
  name: string,
  input: Input,
): Promise<HandlerResult<never>> {
  const query = toQuery(input)
  const after = input.after_cursor === undefined ? undefined : readCursor(query, input.after_cursor)
  const { coverage, result: page } = await readLists(context, (lists) =>
    findPage(lists, query, { offset: 0, limit: input.limit, after }),
  )
  // Undefined on the last page.
  const cursor = page.next && writeCursor(query, page.next)
  const composed = await composePage(context, request, {
    ...{ kind, ids: page.ids, isShort: isShort(input), before: `{"${name}":[` },
    after: cursor === undefined ? ']}' : `],"next_cursor":${JSON.stringify(cursor)}}`,
  })
  return respondWith(context, request, coverage, composed)
}
