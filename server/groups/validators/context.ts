// What the validators group keeps in memory while the server runs.
import type { Network } from '#api/wire/validators.ts'
import type { StreamProgress } from '#ingest/stream-progress.ts'
import type { Context } from '#serve/context.ts'
import type { Run } from './ingest/runs.ts'

export interface ValidatorsCaches {
  /** The networks that this process follows. */
  readonly runs: Map<Network, Run>
}

export type ValidatorsContext = Context & {
  readonly validators: ValidatorsCaches
  readonly streams: StreamProgress
}

export const createValidatorsCaches = (): ValidatorsCaches => ({ runs: new Map() })
