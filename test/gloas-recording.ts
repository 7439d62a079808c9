// A recorded chain that crosses the fork from Fulu to Gloas, with an independent truth about it (test/recordings/gloas).
import { unpackRecording } from './beacon-replay.ts'

export const gloasRecording = 'gloas'

export interface GloasRow {
  readonly validator: number
  readonly slot: number
  readonly included: boolean
  readonly inclusions: number
  readonly inclusionSlot: number | null
  readonly inclusionDelay: number | null
  readonly dataIndex: number | null
  readonly sameSlotVote: boolean | null
  readonly sourceCorrect: boolean | null
  readonly targetCorrect: boolean | null
  readonly headRootCorrect: boolean | null
  /** Null: a vote for the block of its own slot, or one of Fulu. */
  readonly payloadVoteCorrect: boolean | null
  readonly headCorrect: boolean | null
  readonly timelySource: boolean
  readonly timelyTarget: boolean
  readonly timelyHead: boolean
  readonly proposerDuties: number
  readonly proposed: number
  readonly missedProposals: number
  readonly payloadsFull: number
  readonly payloadsEmpty: number
  readonly syncSeats: number
  readonly syncSigned: number
  readonly syncMissed: number
  /** The duty in the payload committee. `includable`: its vote could be on the chain. */
  readonly ptc: {
    readonly slot: number
    readonly seats: number
    readonly includable: boolean
    readonly included: boolean
    readonly payloadPresent: boolean | null
    readonly blobDataAvailable: boolean | null
    readonly canonicalPayload: 'full' | 'empty' | null
    readonly matchesCanonical: boolean | null
  } | null
  /** Null: not eligible. */
  readonly reward: Readonly<Record<'source' | 'target' | 'head' | 'inactivity' | 'score', number>> | null
}

export interface GloasSlot {
  readonly slot: number
  readonly proposer: number
  readonly proposed: boolean
  readonly root: string | null
  readonly payload?: 'in block' | 'full' | 'empty' | null
  readonly envelopeStatus?: number
  readonly selfBuilt?: boolean
  readonly builderIndex?: string
  readonly bidValue?: number
  readonly blockHash?: string
  /** Validator or builder with its bit, and gwei. */
  readonly withdrawals?: readonly (readonly [number, number])[]
  readonly transactions?: number
  readonly syncSeatReward?: number
  readonly proposerReward?: Readonly<Record<'attestations' | 'sync' | 'slashings', number>>
}

export interface GloasTruth {
  readonly epochs: readonly { readonly epoch: number; readonly rows: readonly GloasRow[] }[]
  readonly slots: readonly GloasSlot[]
  /** By epoch: balances of its first state and of the next one, and the parts of each change by validator. */
  readonly balanceChanges: readonly {
    readonly epoch: number
    readonly start: readonly number[]
    readonly end: readonly number[]
    readonly parts: Readonly<Record<string, Readonly<Record<string, number>>>>
  }[]
  readonly builders: readonly {
    readonly epoch: number
    readonly builders: readonly { readonly balance: number; readonly withdrawableEpoch: number }[]
    readonly pendingWithdrawals: number
    readonly pendingPayments: number
  }[]
}

export const gloasTruth = (): GloasTruth => JSON.parse(unpackRecording(`${gloasRecording}/truth.json`)) as GloasTruth
