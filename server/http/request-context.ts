// The context that a handler gets: that of the server, but its databases end with the request
// (storage/abortable-stores.ts). So a handler needs no code of its own for callers that leave, and for the time limit.
//
// 1. Everything that a handler reads goes through this context, also below functions that it calls. What several callers
//    share ends with the one that started it; the others start it again (core/shared-work.ts).
// 2. What calls something else than a database, such as a node or a thread, passes `signal` on.
// 3. It must not be kept beyond the request. A stream gets one of its own, which ends with the stream.
import { type Abortable, abortableDuties, abortableState } from '#storage/abortable-stores.ts'
import type { Duties } from '#storage/duties.ts'
import type { State } from '#storage/state.ts'
import type { Context } from './context.ts'

export type CreateRequestContext = (request: Abortable) => Context

export function openRequestContexts(context: Context): CreateRequestContext {
  class RequestContext {
    readonly #request: Abortable
    #state: State | undefined
    #ingest: State | undefined
    #duties: Duties | undefined

    constructor(request: Abortable) {
      this.#request = request
    }

    get state(): State {
      this.#state ??= abortableState(context.state, this.#request)
      return this.#state
    }

    get ingest(): State {
      this.#ingest ??= abortableState(context.ingest, this.#request)
      return this.#ingest
    }

    get duties(): Duties {
      this.#duties ??= abortableDuties(context.duties, this.#request)
      return this.#duties
    }

    get signal(): AbortSignal {
      return this.#request.signal
    }
  }
  // Settings, clock and the caches of all groups are those of the server.
  Object.setPrototypeOf(RequestContext.prototype, context)
  return (request) => new RequestContext(request) as unknown as Context
}
