// What a world leaves behind: its blocks, its states, its duties, and the truth about all of it.
import type { Fork } from '#core/consensus.ts'
import type { SimValidator } from './chain.ts'
import type { Ledger } from './ledger.ts'
import type { Plan } from './plan.ts'

export interface SimAttestation {
  readonly slot: number
  readonly committees: readonly number[]
  readonly bits: readonly boolean[]
  readonly head: string
  readonly targetEpoch: number
  readonly target: string
}

export interface SimBlock {
  readonly fork: Fork
  readonly slot: number
  readonly proposer: number
  readonly root: string
  readonly parentRoot: string
  readonly attestations: readonly SimAttestation[]
  readonly syncBits: readonly boolean[]
  readonly proposerSlashings: readonly number[]
  readonly attesterSlashings: readonly { readonly first: readonly number[]; readonly second: readonly number[] }[]
  readonly deposits: readonly { readonly pubkey: string; readonly amount: bigint }[]
  readonly withdrawals: readonly { readonly validator: number; readonly amount: bigint }[]
  readonly transactions: number
}

export interface Snapshot {
  readonly finalized: number
  readonly justified: number
  readonly validators: readonly Readonly<SimValidator>[]
}

export interface World {
  readonly seed: string
  readonly plan: Plan
  readonly ledger: Ledger
  readonly blocks: ReadonlyMap<number, SimBlock>
  readonly snapshots: readonly Snapshot[]
  /** By epoch: members by (slot of the epoch) · committees + committee. */
  readonly committees: readonly (readonly (readonly number[])[])[]
  readonly proposers: readonly (readonly number[])[]
  /** By period. */
  readonly sync: readonly (readonly number[])[]
  readonly finalized: number
}
