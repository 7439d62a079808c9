// The server that is put to the test, and how it is asked: requests are built from the contract's routes as the client
// builds them, then changed where a check wants something unusual. Calls keep to the limits that the specification names,
// and a call that is refused for its rate is made again, so that no check fails because of another one.
import { parseJson } from '#api/json.ts'
import { type Addresses, baseOf, type HttpCall, toRequest } from '#api/request.ts'
import { type AnyId, type EndpointId, type Group, type Route, routes } from '#api/routes.ts'
import { retryAfterMs } from '#api/send.ts'

/** Facts about the data, for checks that need some. Those left out are looked for. */
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

/** How a request departs from the usual one. */
export interface RequestChanges {
  /** Null: none at all. */
  readonly key?: string | null
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Added to the query, after what is there. */
  readonly query?: string
  /** Replaces the whole query but the key. */
  readonly link?: string
  /** Changes the finished URL. */
  readonly url?: (url: URL) => void
  /** Not again when refused for its rate. */
  readonly once?: boolean
}

export interface ServerOptions extends Addresses {
  readonly key: string
  /** A key of a plan below Standard, to see it refused. */
  readonly lowKey?: string | undefined
  readonly timeoutMs?: number
}

const attemptsMax = 4
const waitMaxMs = 40_000
/** A little more than the second, because clocks and networks jitter. */
const secondMs = 1100

export class ServerUnderTest {
  readonly options: ServerOptions
  readonly environment: ServerEnvironment
  readonly samples: Samples
  readonly #sent = new Map<AnyId, number[]>()

  constructor(options: ServerOptions, environment: ServerEnvironment, samples: Samples) {
    this.options = options
    this.environment = environment
    this.samples = samples
  }

  /** One call of an endpoint. */
  async call(
    id: EndpointId,
    input: Readonly<Record<string, unknown>> = {},
    changes: RequestChanges = {},
  ): Promise<ServerResponse> {
    const route: Route = routes[id]
    for (let attempt = 1; ; attempt++) {
      if (!changes.once) await this.#waitForRate(id, route)
      const response = await this.#send(this.#buildRequest(id, input, changes), changes)
      if (changes.once || attempt >= attemptsMax || !isTooFast(route.group, response)) return response
      const waitMs = retryAfterMs(response.headers.get('retry-after'), this.environment.now()) ?? secondMs
      if (waitMs > waitMaxMs) return response
      await this.environment.sleep(waitMs)
    }
  }

  /** Any address, without a key: links and paths outside the contract. */
  follow(url: string, changes: RequestChanges = {}): Promise<ServerResponse> {
    return this.#send({ url, method: 'GET', headers: {} }, changes)
  }

  baseOf(id: EndpointId): string {
    return baseOf(id, this.options)
  }

  #buildRequest(id: EndpointId, input: Readonly<Record<string, unknown>>, twist: RequestChanges): HttpCall {
    const key = twist.key === undefined ? this.options.key : (twist.key ?? undefined)
    const query = twist.link === undefined ? undefined : new URLSearchParams(twist.link.split('?')[1] ?? '')
    return toRequest(id, this.baseOf(id), input, key, query)
  }

  async #send(outgoing: HttpCall, twist: RequestChanges): Promise<ServerResponse> {
    const url = new URL(outgoing.url)
    if (twist.query !== undefined) url.search += `${url.search === '' ? '' : '&'}${twist.query}`
    twist.url?.(url)
    const body = twist.body ?? (twist.method === undefined ? outgoing.body : undefined)
    const response = await this.environment.fetch(url, {
      method: twist.method ?? outgoing.method,
      // Packed answers are the transport's affair; plain ones have a length that can be compared.
      headers: { 'accept-encoding': 'identity', ...outgoing.headers, ...twist.headers },
      redirect: 'manual',
      signal: AbortSignal.timeout(this.options.timeoutMs ?? 30_000),
      ...(body !== undefined && { body }),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: readBody(text) }
  }

  /** Keeps to the calls per second that an endpoint allows whatever the plan. */
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

function readBody(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
