// The server under test. Requests are built from the routes of the contract, as the client builds them, then changed as
// a check requires. Calls respect the rate limits of the specification, and a rate-limited call is repeated, so that
// checks do not disturb each other.

import { nextRequest, type PagedId, type PageRequest } from '#api/client/pages.ts'
import { readBody, retryAfterMs } from '#api/client/send.ts'
import type { FaultCode } from '#api/contract/faults.ts'
import { type Addresses, baseOf, type HttpCall, toRequest } from '#api/contract/request.ts'
import { type AnyId, allRoutes, type Group, type Route } from '#api/contract/routes.ts'
import { expect, expectFailure, expectList, expectReply, type Members, requireExtension } from './check.ts'

/** Data that exists on the server. Samples that are not given are searched for. */
export interface Samples {
  readonly address?: string | undefined
  readonly validators?: readonly number[] | undefined
  readonly slug?: string | undefined
  readonly pair?: { readonly from: string; readonly to: string } | undefined
}

export interface ServerEnvironment {
  readonly fetch: typeof globalThis.fetch
  readonly sleep: (waitMs: number) => Promise<void>
  readonly now: () => number
}

export interface ServerResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Undefined when the text is not JSON. Integers keep every digit. */
  readonly body: unknown
}

/** How a request differs from the default one. */
export interface RequestChanges {
  /** Null: no key. */
  readonly key?: string | null
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Appended to the query. */
  readonly query?: string
  /** Replaces the query, except for the key. */
  readonly pageQuery?: URLSearchParams | undefined
  /** Changes the finished URL. */
  readonly url?: (url: URL) => void
  /** Do not repeat the call if it is rate-limited. */
  readonly once?: boolean
}

export interface ServerOptions extends Addresses {
  readonly key: string
  /** A key of a plan below Standard, which must be refused. */
  readonly lowKey?: string | undefined
  readonly timeoutMs?: number
}

/** A read that succeeded, and its text. */
interface Read {
  readonly id: AnyId
  readonly input: Members
  readonly changes: RequestChanges
  readonly text: string
}

const attemptsMax = 4
const waitMaxMs = 40_000
const pagesMax = 200
/** Slightly more than a second, because clocks and networks jitter. */
const secondMs = 1100

export class ServerUnderTest {
  readonly options: ServerOptions
  readonly environment: ServerEnvironment
  readonly samples: Samples
  /** Samples that were searched for, by name (samples.ts). */
  readonly foundSamples = new Map<string, Promise<unknown>>()
  readonly #sent = new Map<AnyId, number[]>()
  /** Requests of each endpoint, repeated ones included. */
  readonly requestCounts = new Map<AnyId, number>()

  #reads: Read[] = []

  constructor(options: ServerOptions, environment: ServerEnvironment, samples: Samples) {
    this.options = options
    this.environment = environment
    this.samples = samples
  }

  async call(id: AnyId, input: Members = {}, changes: RequestChanges = {}): Promise<ServerResponse> {
    const response = await this.#call(id, input, changes)
    const isRead = (changes.method ?? allRoutes[id].method) === 'GET'
    if (isRead && response.status === 200) this.#reads.push({ id, input, changes, text: response.text })
    return response
  }

  /** Forgets the reads of the check before. */
  startCheck(): void {
    this.#reads = []
  }

  /** Sends the reads of this check again: does one of them return something else now? */
  async haveReadsChanged(): Promise<boolean> {
    for (const { id, input, changes, text } of this.#reads) {
      const again = await this.#call(id, input, changes)
      if (again.status === 200 && again.text !== text) return true
    }
    return false
  }

  async #call(id: AnyId, input: Members, changes: RequestChanges): Promise<ServerResponse> {
    const route: Route = allRoutes[id]
    for (let attempt = 1; ; attempt++) {
      if (!changes.once) await this.#waitForRate(id, route)
      this.requestCounts.set(id, (this.requestCounts.get(id) ?? 0) + 1)
      const response = await this.#send(this.#buildRequest(id, input, changes), changes)
      if (changes.once || attempt >= attemptsMax || !isTooFast(route.group, response)) return response
      const waitMs = retryAfterMs(response.headers.get('retry-after'), this.environment.now()) ?? secondMs
      if (waitMs > waitMaxMs) return response
      await this.environment.sleep(waitMs)
    }
  }

  /** The reply of a call that must succeed. */
  async fetchReply(id: AnyId, input: Members = {}, changes: RequestChanges = {}): Promise<Members> {
    return expectReply(id, await this.call(id, input, changes))
  }

  /** The same of an endpoint that not every server has. Without it, the check is skipped. */
  async fetchExtension(id: AnyId, input: Members = {}, changes: RequestChanges = {}): Promise<Members> {
    return expectReply(id, requireExtension(id, await this.call(id, input, changes)))
  }

  /** All pages of a list, by their links, always at the address under test (behaviour/http.md#client-pages). */
  async fetchPages(id: PagedId, input: Members): Promise<readonly Members[]> {
    const pages: Members[] = []
    let request: PageRequest | undefined = { input }
    while (request) {
      const page = await this.fetchReply(id, request.input, { pageQuery: request.query })
      pages.push(page)
      expect(pages.length <= pagesMax, `there are more than ${pagesMax} pages`)
      request = nextRequest(id, request, page)
    }
    return pages
  }

  /** The list that a call returns, which must succeed. */
  async fetchList(id: AnyId, input: Members = {}, changes: RequestChanges = {}): Promise<readonly Members[]> {
    return expectList(id, await this.call(id, input, changes))
  }

  /** The response of a call that must fail with this code. */
  async expectFailure(
    id: AnyId,
    input: Members,
    code: FaultCode,
    changes: RequestChanges = {},
  ): Promise<ServerResponse> {
    const response = await this.call(id, input, changes)
    expectFailure(id, response, code)
    return response
  }

  /** Requests any URL without a key, for links and paths outside the contract. */
  follow(url: string, changes: RequestChanges = {}): Promise<ServerResponse> {
    return this.#send({ url, method: 'GET', headers: {} }, changes)
  }

  baseOf(id: AnyId): string {
    return baseOf(id, this.options)
  }

  #buildRequest(id: AnyId, input: Members, changes: RequestChanges): HttpCall {
    const key = changes.key === undefined ? this.options.key : (changes.key ?? undefined)
    return toRequest(id, this.baseOf(id), input, key, changes.pageQuery)
  }

  async #send(outgoing: HttpCall, changes: RequestChanges): Promise<ServerResponse> {
    const url = new URL(outgoing.url)
    if (changes.query !== undefined) url.search += `${url.search === '' ? '' : '&'}${changes.query}`
    changes.url?.(url)
    const body = changes.body ?? (changes.method === undefined ? outgoing.body : undefined)
    const response = await this.environment.fetch(url, {
      method: changes.method ?? outgoing.method,
      // Uncompressed, so that content-length can be compared.
      headers: { 'accept-encoding': 'identity', ...outgoing.headers, ...changes.headers },
      redirect: 'manual',
      signal: AbortSignal.timeout(this.options.timeoutMs ?? 30_000),
      ...(body !== undefined && { body }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: readBody(text) }
  }

  /** Respects the calls per second that an endpoint allows for any plan. */
  async #waitForRate(id: AnyId, { perSecond }: Route): Promise<void> {
    if (perSecond === undefined) return
    const sent = (this.#sent.get(id) ?? []).slice(-perSecond)
    const [oldest] = sent
    const waitMs = sent.length < perSecond || oldest === undefined ? 0 : oldest + secondMs - this.environment.now()
    if (waitMs > 0) await this.environment.sleep(waitMs)
    this.#sent.set(id, [...sent, this.environment.now()])
  }
}

function isTooFast(group: Group, { status, body }: ServerResponse): boolean {
  if (status === 429) return true
  const { result } = (typeof body === 'object' && body !== null ? body : {}) as { result?: unknown }
  return group === 'explorer' && typeof result === 'string' && /calls per sec|invalid api key attempts/i.test(result)
}
