// The error for epochs that cannot be read any more: nodes delete old states.
import { BeaconError } from '#sources/beacon/client.ts'

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
