// An endpoint without the types of its schemas, which is how the published declarations describe it.
import type { FaultCode } from './faults.ts'
import type { AnyId, Route } from './routes.ts'

export interface PlainEndpoint extends Route {
  readonly id: AnyId
  /** One line for help texts and documentation. */
  readonly summary: string
  /** Further explanation. */
  readonly notes: string
  /** JSON schema of path, query, header and body inputs by name, in one object. */
  readonly input: object
  /** JSON schema of the body of a successful response. */
  readonly reply: object
  /** Replies have an `etag`; a request that sends it back gets 304 while nothing has changed. */
  readonly etag?: true
  /** Faults beyond those that every endpoint of its group can raise. */
  readonly faults: readonly FaultCode[]
  readonly example: PlainExample
}

export interface PlainExample {
  readonly input: object
  readonly reply: unknown
  /** Preconditions of the example; absent if it works with the demo. */
  readonly needs?: string
}
