// The typed client: one method per endpoint, page iterators, retries, exact integers. It runs in Node and in browsers.
// At run time it needs only the route table; the schemas are used for types and are not loaded.

import { type Addresses, baseOf, toRequest } from '../contract/request.ts'
import { type AnyId, allRoutes, type Group, groups } from '../contract/routes.ts'
import { type Call, createCall, createPagedCall, type PagedCall } from './call.ts'
import type {
  CallOptions,
  ExplorerMethods,
  FxMethods,
  InputOf,
  MarketsMethods,
  ReplyOf,
  ValidatorsMethods,
} from './calls.ts'
import { type PagedId, pagedEndpoints, type RecordOf } from './pages.ts'
import { type CallEndpoint, type ClientEnvironment, type SendOptions, send } from './send.ts'
import { signQuote } from './sign-quote.ts'
import { type WatchMethods, watchMethods } from './watch.ts'

export type { Call, Iteration, PagedCall, RecordWithMeta, ReplyWithMeta } from './call.ts'
export type { CallOptions, InputOf, ReplyOf } from './calls.ts'
export {
  type ErrorCode,
  ExplorerError,
  FxError,
  MarketsError,
  TetradError,
  TransportError,
  ValidatorsError,
} from './errors.ts'
export type { PagedId, PageOptions, RecordOf } from './pages.ts'
export type { ResponseMeta } from './send.ts'
export { type QuoteSigner, type SignOptions, signQuote } from './sign-quote.ts'
export { signable } from './signable.ts'

/** Options may be undefined, so that callers can pass optional values through. */
type EnvironmentOptions = { readonly [K in keyof ClientEnvironment]?: ClientEnvironment[K] | undefined }

export interface ClientOptions extends Addresses, SendOptions, EnvironmentOptions {
  /** `tetrad:<id>:<secret>`; not needed for markets by default. */
  readonly key?: string | undefined
}

export interface Client {
  /** Calls any endpoint by its id, as the methods below do. */
  call<Id extends PagedId>(id: Id, input: InputOf<Id>, options?: CallOptions): PagedCall<ReplyOf<Id>, RecordOf<Id>>
  call<Id extends AnyId>(id: Id, input: InputOf<Id>, options?: CallOptions): Call<ReplyOf<Id>>
  readonly explorer: ExplorerMethods
  readonly fx: FxMethods & { readonly signQuote: typeof signQuote }
  readonly validators: ValidatorsMethods
  readonly markets: MarketsMethods & WatchMethods
}

export function createClient(options: ClientOptions): Client {
  const { key } = options
  const environment: ClientEnvironment = {
    // Browsers require `this` to be the global object.
    fetch: options.fetch ?? ((url, init) => globalThis.fetch(url, init)),
    sleep: options.sleep ?? pause,
    random: options.random ?? Math.random,
    now: options.now ?? Date.now,
    waitMaxMs: options.waitMaxMs ?? 30_000,
  }
  const scrub = scrubber(key)
  // Inputs that cannot be sent are rejections, not exceptions.
  const callEndpoint: CallEndpoint = async (id, input, call, query) => {
    const outgoing = toRequest(id, baseOf(id, options), input, key, query)
    return send(id, outgoing, environment, sendOptions(call, options), scrub)
  }
  const startCall = (id: AnyId, input: object = {}, call: CallOptions = {}) => {
    const sent = { ...input }
    const answer = callEndpoint(id, sent, call)
    return id in pagedEndpoints
      ? createPagedCall(id as PagedId, sent, answer, (page) => callEndpoint(id, page.input, call, page.query))
      : createCall(answer)
  }
  const methods: Record<string, Record<string, unknown>> = Object.fromEntries(groups.map((group) => [group, {}]))
  for (const id of Object.keys(allRoutes) as AnyId[]) {
    if (allRoutes[id].stream) continue
    const [group, name] = id.split('.') as [Group, string]
    Object.assign(methods[group] as object, { [name]: startCall.bind(undefined, id) })
  }
  Object.assign(methods.fx as object, { signQuote })
  const address = (input: object) =>
    toRequest('markets.changeStream', baseOf('markets.changeStream', options), { ...input }, key)
  Object.assign(methods.markets as object, watchMethods(address, callEndpoint, environment, scrub))
  return { call: startCall, ...methods } as unknown as Client
}

/** Options of the call override those of the client. */
const sendOptions = (call: SendOptions, all: SendOptions): SendOptions => ({
  retries: call.retries ?? all.retries,
  timeoutMs: call.timeoutMs ?? all.timeoutMs,
  signal: call.signal ?? all.signal,
  onResponse: call.onResponse ?? all.onResponse,
})

/** Removes the key from texts of other libraries, plain and URL-encoded. */
function scrubber(key: string | undefined): (text: string) => string {
  if (!key) return (text) => text
  return (text) => text.replaceAll(key, '[key]').replaceAll(encodeURIComponent(key), '[key]')
}

function pause(waitMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, waitMs)
    signal?.addEventListener('abort', done, { once: true })
  })
}
