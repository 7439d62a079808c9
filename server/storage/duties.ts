// The interface to the duties database (schema/duties.ts). Small reads are SQL. Long operations have a name and run on
// threads: queries each in one snapshot, updates one after another (server/validators/duties/operations.ts).
import type { State, StateReader } from './state.ts'

/** The lease of an ingester (server/ingest/lease.ts), checked in the transaction that writes. */
export interface LeaseToken {
  readonly name: string
  readonly holder: string
  readonly token: number
}

export interface UpdateOptions {
  readonly signal?: AbortSignal | undefined
  /** Buffers of the input that are moved to the thread. */
  readonly transfer?: readonly ArrayBuffer[]
  readonly lease?: LeaseToken
}

export interface Duties extends StateReader {
  readonly engine: State['engine']
  /** Changes with every commit (storage/state.ts, rule 3). */
  version(): number
  query<T>(name: string, input: unknown, signal?: AbortSignal): Promise<T>
  update<T>(name: string, input: unknown, options?: UpdateOptions): Promise<T>
  close(): Promise<void>
}
