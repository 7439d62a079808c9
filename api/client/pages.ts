// How the pages of every endpoint that has them are read (behaviour/http.md#client-pages). Of a link to the next page only the
// query is used, with the base URL of the client. So no link can send the key to another host, and proxies may change host
// and path.

import { stringifyJson } from '../contract/json.ts'
import type { AnyId } from '../contract/routes.ts'
import type { ReplyOf } from './calls.ts'
import { TransportError } from './errors.ts'
import { type Answer, contextOf } from './send.ts'

/** How the next page is requested. Undefined and null in a reply mean that there is none. */
type NextPage =
  /** `next` is a link. */
  | 'link'
  /** A member of the reply becomes an input of the next request, unless the reply has `more: false`. */
  | { readonly from: string; readonly to: string }
  /** The offset grows by the number of records. The page after the last one is empty. */
  | 'offset'
  /** `page` is a number from 1, and `pagination.hasMore` of the reply is true if there are more. */
  | 'number'

interface Paging {
  /** The member with the records; null: the reply is the list of records. */
  readonly records: string | null
  readonly next: NextPage
}

export const pagedEndpoints = {
  'fx.quotes': { records: 'quotes', next: { from: 'next', to: 'before' } },
  'fx.trades': { records: 'trades', next: { from: 'next', to: 'before' } },
  'validators.aggregateEffectiveness': { records: 'data', next: 'link' },
  'validators.effectiveness': { records: 'results', next: 'link' },
  'validators.explain': { records: 'results', next: 'link' },
  'validators.list': { records: 'data', next: 'link' },
  'validators.effectivenessV0': { records: 'data', next: 'link' },
  'validators.find': { records: 'validators', next: 'link' },
  'validators.operators': { records: 'data', next: 'link' },
  'validators.operatorEffectiveness': { records: 'data', next: 'link' },
  'validators.entities': { records: 'entities', next: 'offset' },
  'markets.list': { records: null, next: 'offset' },
  'markets.listKeyset': { records: 'markets', next: { from: 'next_cursor', to: 'after_cursor' } },
  'markets.events': { records: null, next: 'offset' },
  'markets.eventsKeyset': { records: 'events', next: { from: 'next_cursor', to: 'after_cursor' } },
  'markets.tags': { records: null, next: 'offset' },
  'markets.series': { records: null, next: 'offset' },
  'markets.publicSearch': { records: 'events', next: 'number' },
  'markets.changesBySlug': { records: 'changes', next: { from: 'next', to: 'cursor' } },
  'markets.changes': { records: 'changes', next: { from: 'next', to: 'after' } },
} as const satisfies Partial<Record<AnyId, Paging>>

type Paged = typeof pagedEndpoints
export type PagedId = keyof Paged

type ListIn<Reply, Member> = Member extends keyof Reply ? Reply[Member] : Reply
/** A record of a page. */
export type RecordOf<Id extends PagedId> =
  ListIn<ReplyOf<Id>, Paged[Id]['records']> extends readonly (infer Item)[] ? Item : never

export interface PageOptions {
  /** The iterator throws after this number of pages; default 10 000. */
  readonly pagesMax?: number | undefined
}

export interface PageRequest {
  readonly input: Members
  /** Replaces the query. */
  readonly query?: URLSearchParams | undefined
}

type Members = Readonly<Record<string, unknown>>

const pagesMaxDefault = 10_000

/** Every page from the first one on. `requestPage` requests one. */
export async function* readPages(
  id: PagedId,
  input: Members,
  requestPage: (request: PageRequest) => Promise<Answer>,
  { pagesMax = pagesMaxDefault }: PageOptions,
): AsyncGenerator<Answer, void, undefined> {
  let request: PageRequest | undefined = { input }
  const requested = new Set<string>()
  let previous = ''
  for (let count = 1; count <= pagesMax; count++) {
    const answer: Answer = await requestPage(request)
    const content = contentOf(id, answer.reply)
    if (content !== undefined && content === previous)
      throw unreadable(id, 'the page has the records of the one before')
    yield answer
    previous = content ?? ''
    requested.add(positionOf(request))
    request = nextRequest(id, request, answer.reply)
    if (!request) return
    if (requested.has(positionOf(request))) throw unreadable(id, 'the next page is one that was read before')
  }
  throw unreadable(id, `more than ${pagesMax} pages: request less, or raise pagesMax`)
}

const positionOf = ({ input, query }: PageRequest): string => (query ? String(query) : stringifyJson(input))

/**
 * The records of a page whose position is counted here: a server that ignores the position returns the same ones for ever.
 * Undefined for other pages, whose records may be equal: with links, the caller chooses the fields.
 */
function contentOf(id: PagedId, reply: unknown): string | undefined {
  const { next }: Paging = pagedEndpoints[id]
  if (next !== 'offset' && next !== 'number') return undefined
  const records = recordsOf(id, reply)
  return records.length === 0 ? undefined : stringifyJson(records)
}

/** Undefined after the last page. */
export function nextRequest(id: PagedId, { input }: PageRequest, reply: unknown): PageRequest | undefined {
  const { next }: Paging = pagedEndpoints[id]
  const members = reply as Members
  if (next === 'link') {
    if (members.next === null) return undefined
    return { input, query: queryOf(id, members.next) }
  }
  if (next === 'offset') {
    const { length } = recordsOf(id, reply)
    return length === 0 ? undefined : { input: { ...input, offset: Number(input.offset ?? 0) + length } }
  }
  if (next === 'number') {
    const { hasMore } = (members.pagination ?? {}) as { hasMore?: unknown }
    return hasMore === true && recordsOf(id, reply).length > 0
      ? { input: { ...input, page: Number(input.page ?? 1) + 1 } }
      : undefined
  }
  const cursor = members[next.from]
  if (cursor == null || members.more === false) return undefined
  return { input: { ...input, [next.to]: cursor } }
}

export function recordsOf(id: PagedId, reply: unknown): readonly unknown[] {
  const { records }: Paging = pagedEndpoints[id]
  const list = records === null ? reply : (reply as Members)[records]
  if (!Array.isArray(list)) throw unreadable(id, 'the page has no list of records')
  return list
}

function queryOf(id: AnyId, link: unknown): URLSearchParams {
  const mark = typeof link === 'string' ? link.indexOf('?') : -1
  if (mark < 0) throw unreadable(id, 'the link to the next page is not valid')
  return new URLSearchParams((link as string).slice(mark + 1))
}

const unreadable = (id: AnyId, message: string): TransportError =>
  new TransportError(contextOf(id, 200), 'unreadable', message)
