// Iterators over the paged endpoints of groups C and D. Group C has links: only the query of a link to the next page is
// used, with the base URL of the client, so no link can send the key to another host, and proxies may change host and path
// (behaviour/http.md#client-pages). Group D has cursors.
import type { InputOf, ReplyOf } from './calls.ts'
import { TransportError } from './errors.ts'
import { type AnyId, allRoutes, type Route } from './routes.ts'
import type { CallEndpoint, SendOptions } from './send.ts'

export interface PageOptions extends SendOptions {
  /** The iterator throws after this number of pages; default 10 000. */
  readonly pagesMax?: number | undefined
}

type Aggregate = 'validators.aggregateEffectiveness'
type Single = 'validators.effectiveness'
type Explain = 'validators.explain'
type Find = 'validators.find'

export interface PageMethods {
  aggregateEffectivenessPages(input: InputOf<Aggregate>, options?: PageOptions): AsyncGenerator<ReplyOf<Aggregate>>
  aggregateEffectivenessAll(
    input: InputOf<Aggregate>,
    options?: PageOptions,
  ): AsyncGenerator<ReplyOf<Aggregate>['data'][number]>
  effectivenessPages(input: InputOf<Single>, options?: PageOptions): AsyncGenerator<ReplyOf<Single>>
  effectivenessAll(input: InputOf<Single>, options?: PageOptions): AsyncGenerator<ReplyOf<Single>['results'][number]>
  explainPages(input: InputOf<Explain>, options?: PageOptions): AsyncGenerator<ReplyOf<Explain>>
  findPages(input: InputOf<Find>, options?: PageOptions): AsyncGenerator<ReplyOf<Find>>
}

export function pageMethods(callEndpoint: CallEndpoint): PageMethods {
  const aggregate = (input: InputOf<Aggregate>, options: PageOptions = {}) =>
    pages<ReplyOf<Aggregate>>(callEndpoint, 'validators.aggregateEffectiveness', input, options)
  const single = (input: InputOf<Single>, options: PageOptions = {}) =>
    pages<ReplyOf<Single>>(callEndpoint, 'validators.effectiveness', input, options)
  return {
    aggregateEffectivenessPages: aggregate,
    effectivenessPages: single,
    explainPages: (input, options = {}) => pages<ReplyOf<Explain>>(callEndpoint, 'validators.explain', input, options),
    findPages: (input, options = {}) => pages<ReplyOf<Find>>(callEndpoint, 'validators.find', input, options),
    async *aggregateEffectivenessAll(input, options) {
      for await (const page of aggregate(input, options)) yield* page.data
    },
    async *effectivenessAll(input, options) {
      for await (const page of single(input, options)) yield* page.results
    },
  }
}

type Markets = 'markets.listKeyset'
type Events = 'markets.eventsKeyset'

export interface MarketPageMethods {
  listAll(
    input?: Omit<InputOf<Markets>, 'after_cursor'>,
    options?: PageOptions,
  ): AsyncGenerator<ReplyOf<Markets>['markets'][number]>
  eventsAll(
    input?: Omit<InputOf<Events>, 'after_cursor'>,
    options?: PageOptions,
  ): AsyncGenerator<ReplyOf<Events>['events'][number]>
}

export const marketPageMethods = (callEndpoint: CallEndpoint): MarketPageMethods => ({
  async *listAll(input = {}, options = {}) {
    for await (const page of cursorPages<ReplyOf<Markets>>(callEndpoint, 'markets.listKeyset', input, options))
      yield* page.markets
  },
  async *eventsAll(input = {}, options = {}) {
    for await (const page of cursorPages<ReplyOf<Events>>(callEndpoint, 'markets.eventsKeyset', input, options))
      yield* page.events
  },
})

async function* cursorPages<P extends { readonly next_cursor?: string }>(
  callEndpoint: CallEndpoint,
  id: AnyId,
  input: object,
  options: PageOptions,
): AsyncGenerator<P> {
  const pagesMax = options.pagesMax ?? pagesMaxDefault
  let cursor: string | undefined
  for (let count = 1; count <= pagesMax; count++) {
    const page = (await callEndpoint(id, { ...input, after_cursor: cursor }, options)) as P
    yield page
    if (page.next_cursor === undefined) return
    if (page.next_cursor === cursor) throw unreadable(id, 'the cursor of the next page is that of this page')
    cursor = page.next_cursor
  }
  throw tooManyPages(id, pagesMax)
}

const pagesMaxDefault = 10_000

async function* pages<P extends { readonly next: string | null }>(
  callEndpoint: CallEndpoint,
  id: AnyId,
  input: object,
  options: PageOptions,
): AsyncGenerator<P> {
  const pagesMax = options.pagesMax ?? pagesMaxDefault
  let query: URLSearchParams | undefined
  for (let count = 1; count <= pagesMax; count++) {
    const page = (await callEndpoint(id, { ...input }, options, query)) as P
    yield page
    if (page.next === null) return
    const following = queryOf(id, page.next)
    if (String(following) === String(query)) throw unreadable(id, 'the link to the next page is that of this page')
    query = following
  }
  throw tooManyPages(id, pagesMax)
}

const tooManyPages = (id: AnyId, pagesMax: number): TransportError =>
  unreadable(id, `more than ${pagesMax} pages: request less, or raise pagesMax`)

function queryOf(id: AnyId, link: unknown): URLSearchParams {
  const mark = typeof link === 'string' ? link.indexOf('?') : -1
  if (mark < 0) throw unreadable(id, 'the link to the next page is not valid')
  return new URLSearchParams((link as string).slice(mark + 1))
}

const unreadable = (id: AnyId, message: string): TransportError => {
  const { group }: Route = allRoutes[id]
  const at = { group, endpoint: id, status: 200, requestId: undefined, retryAfterMs: undefined }
  return new TransportError(at, 'unreadable', message)
}
