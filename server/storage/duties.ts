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
  readonly lease?: LeaseToken | undefined
}

/** The operations by name. The module that implements them declares them (server/validators/duties/operations.ts). */
// biome-ignore lint/suspicious/noEmptyInterface: extended there
export interface DutyQueries {}
// biome-ignore lint/suspicious/noEmptyInterface: extended there
export interface DutyUpdates {}

export type InputOf<Operation> = Operation extends (
  database: never,
  input: infer Input,
  signal?: AbortSignal,
) => unknown
  ? Input
  : never
export type ResultOf<Operation> = Operation extends (...args: never[]) => Promise<infer Result> ? Result : never

export interface Duties extends StateReader {
  readonly engine: State['engine']
  /** Changes with every commit (storage/state.ts, rule 3). */
  version(): number
  query<Name extends keyof DutyQueries>(
    name: Name,
    input: InputOf<DutyQueries[Name]>,
    signal?: AbortSignal,
  ): Promise<ResultOf<DutyQueries[Name]>>
  update<Name extends keyof DutyUpdates>(
    name: Name,
    input: InputOf<DutyUpdates[Name]>,
    options?: UpdateOptions,
  ): Promise<ResultOf<DutyUpdates[Name]>>
  close(): Promise<void>
}
