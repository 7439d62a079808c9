// What the methods of the client return: the promise of a reply, which can also be read with its metadata, page by page or
// record by record. All of them begin with the request that the method has sent.
import { type PagedId, type PageOptions, type PageRequest, readPages, recordsOf } from './pages.ts'
import type { Answer, ResponseMeta } from './send.ts'

export interface ReplyWithMeta<Reply> {
  readonly reply: Reply
  readonly meta: ResponseMeta
}

export interface RecordWithMeta<Item> {
  readonly record: Item
  /** Of the page with this record. */
  readonly meta: ResponseMeta
}

export interface Call<Reply> extends Promise<Reply> {
  /** The reply, and what it is based on. */
  withMeta(): Promise<ReplyWithMeta<Reply>>
}

export interface Iteration<Item, ItemWithMeta> extends AsyncGenerator<Item, void, undefined> {
  /** The same, each with the metadata of its page. */
  withMeta(): AsyncGenerator<ItemWithMeta, void, undefined>
}

/** A call of an endpoint that returns pages. Its input is that of the first page. */
export interface PagedCall<Reply, Item> extends Call<Reply> {
  /** The replies, page by page. */
  pages(options?: PageOptions): Iteration<Reply, ReplyWithMeta<Reply>>
  /** The records of all pages. */
  records(options?: PageOptions): Iteration<Item, RecordWithMeta<Item>>
}

export function createCall(answer: Promise<Answer>): Call<unknown> {
  const reply = answer.then((answered) => answered.reply)
  return Object.assign(reply, {
    withMeta() {
      // The caller gets the error from `answer`, and does not use `reply`.
      reply.catch(() => {})
      return answer
    },
  })
}

/** `requestPage` requests the pages after the first one. */
export function createPagedCall(
  id: PagedId,
  input: PageRequest['input'],
  answer: Promise<Answer>,
  requestPage: (request: PageRequest) => Promise<Answer>,
): PagedCall<unknown, unknown> {
  const call = createCall(answer)
  const readAll = (options: PageOptions = {}) => {
    call.catch(() => {})
    let isFirst = true
    const request = (page: PageRequest): Promise<Answer> => {
      if (!isFirst) return requestPage(page)
      isFirst = false
      return answer
    }
    return readPages(id, input, request, options)
  }
  return Object.assign(call, {
    pages: (options?: PageOptions) => Object.assign(repliesOf(readAll(options)), { withMeta: () => readAll(options) }),
    records: (options?: PageOptions) =>
      Object.assign(plainRecords(id, readAll(options)), { withMeta: () => recordsWithMeta(id, readAll(options)) }),
  })
}

async function* repliesOf(pages: AsyncIterable<Answer>) {
  for await (const { reply } of pages) yield reply
}

async function* plainRecords(id: PagedId, pages: AsyncIterable<Answer>) {
  for await (const { reply } of pages) yield* recordsOf(id, reply)
}

async function* recordsWithMeta(id: PagedId, pages: AsyncIterable<Answer>) {
  for await (const { reply, meta } of pages) for (const record of recordsOf(id, reply)) yield { record, meta }
}
