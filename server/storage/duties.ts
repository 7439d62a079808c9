// The port to the duties database (schema/duties.ts), for everyone but the code that works on its rows. Small reads are SQL, as for the state.
// Whatever takes long has a name and runs beside the callers: queries on a thread of their own, each in one snapshot; updates on another,
// one after the other. server/validators/duties/operations.ts has them.
import type { State, StateReader } from './state.ts'

/** What an ingester writes under (server/ingest/lease.ts), checked in the transaction that writes. */
export interface LeaseToken {
  readonly name: string
  readonly holder: string
  readonly token: number
}

export interface UpdateOptions {
  readonly signal?: AbortSignal | undefined
  /** Buffers of the input that are the thread's from now on. */
  readonly transfer?: readonly ArrayBuffer[]
  readonly lease?: LeaseToken
}

export interface Duties extends StateReader {
  readonly engine: State['engine']
  /** Changes with every commit, as that of the state (state 3). */
  version(): number
  query<T>(name: string, input: unknown, signal?: AbortSignal): Promise<T>
  update<T>(name: string, input: unknown, options?: UpdateOptions): Promise<T>
  close(): Promise<void>
}
