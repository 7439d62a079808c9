// The error for epochs whose states no node has any more, and the search that decides whether this is the case: it tries
// several requests for the same state or envelope, and remembers whether one of them failed.
import { BeaconError, ServerStatusError } from '#sources/beacon/client.ts'

const statesNotFound = 'StatesNotFoundError'

/** The nodes responded, but none of them has the states of an epoch, and there is no record of them. */
export class StatesNotFoundError extends BeaconError {
  override readonly name = statesNotFound

  constructor(message: string) {
    super(`${message}; use an archive node`)
  }
}

/** Checks the name, because an error from another thread loses its class. */
export const isStatesNotFound = (error: unknown): error is Error =>
  error instanceof Error && error.name === statesNotFound

/**
 * Requests for the same thing that are tried in order. After a status 500 that lasts, the next one is tried, as after
 * "not found". But a failure does not prove that the node lacks the data, so it never becomes a StatesNotFoundError.
 */
export class StateSearch {
  #failure: ServerStatusError | undefined

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  /** Undefined: try the next request. */
  async result<T>(request: Promise<T | undefined>): Promise<T | undefined> {
    try {
      return await request
    } catch (error) {
      if (!(error instanceof ServerStatusError)) throw error
      this.#failure = error
      return undefined
    }
  }

  /** The error if no request had a result. */
  error(message: string): BeaconError {
    return this.#failure ?? new StatesNotFoundError(message)
  }
}
