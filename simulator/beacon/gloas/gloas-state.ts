// What the state of a simulated chain has since Gloas, and the constants of its rules. The rules are implemented
// independently of the server (chain.ts).
import { zeroRoot } from '../records.ts'
import type {
  BuilderPayment,
  PartialWithdrawal,
  PendingPayment,
  SimulatedBid,
  SimulatedBuilder,
  SimulatedWithdrawal,
} from './gloas-records.ts'

/** The constants of simulated networks (`specOf` in ../plan.ts), and of the rules since Gloas. */
export const chainConstants = {
  /** Epochs: EPOCHS_PER_SLASHINGS_VECTOR, and MIN_EPOCHS_TO_INACTIVITY_PENALTY. */
  slashingsVector: 8,
  leakAfterEpochs: 2,
  /** SLOTS_PER_HISTORICAL_ROOT. */
  historicalRoots: 16,
  ptcSize: 16,
  withdrawalsMax: 4,
  partialsPerSweep: 2,
  validatorsPerSweep: 16,
  buildersPerSweep: 16,
  /** Epochs: MAX_SEED_LOOKAHEAD, and the delays until exited validators and builders can withdraw. */
  activationDelay: 1,
  withdrawalDelay: 2,
  builderDelay: 3,
  /** Gwei. The activation limit is lower than in Fulu, so that a difference between the forks is visible. */
  churnMin: 128_000_000_000n,
  activationChurnMax: 64_000_000_000n,
  churnQuotient: 16n,
  consolidationQuotient: 8n,
  depositsPerEpoch: 3,
}

export type ChainConstants = Readonly<typeof chainConstants>

const zeroAddress = `0x${'00'.repeat(20)}`

/** As the fork creates it. `latestHash`: the hash of the newest payload. */
export const createGloasState = (
  { historicalRoots }: Pick<ChainConstants, 'historicalRoots'>,
  slotsPerEpoch: number,
  latestHash: string,
  emptyRequestsRoot: string,
) => ({
  builders: [] as SimulatedBuilder[],
  /** Where the next sweeps begin. */
  nextBuilder: 0,
  nextValidator: 0,
  nextWithdrawal: 0,
  /** Whether the payload of a slot is part of the chain; index: slot modulo the length. */
  availability: new Array<boolean>(historicalRoots).fill(true),
  /** By slot of the previous and the current epoch. */
  payments: new Array<PendingPayment | undefined>(2 * slotsPerEpoch).fill(undefined),
  builderWithdrawals: [] as BuilderPayment[],
  /** Of the newest block. */
  bid: {
    ...{ slot: 0, parentHash: zeroRoot, parentRoot: zeroRoot, blockHash: latestHash, prevRandao: zeroRoot },
    ...{ feeRecipient: zeroAddress, builder: 0, value: 0n, executionPayment: 0n, requestsRoot: emptyRequestsRoot },
  } as SimulatedBid,
  /** What the payload of the newest block must contain. */
  expected: [] as readonly SimulatedWithdrawal[],
  /** The hash of the newest payload in the chain. */
  latestHash,
  partials: [] as PartialWithdrawal[],
  /** What earlier epochs left for deposits; what the epochs of the last exit and consolidation leave. */
  depositGwei: 0n,
  exitGwei: 0n,
  exitEpoch: 0,
  consolidationGwei: 0n,
  consolidationEpoch: 0,
})

export type GloasState = ReturnType<typeof createGloasState>

/** Changes of the original do not affect the copy. */
export const copyGloasState = (state: GloasState): GloasState => ({
  ...state,
  builders: state.builders.map((builder) => ({ ...builder })),
  availability: [...state.availability],
  payments: state.payments.map((payment) => payment && { ...payment }),
  builderWithdrawals: [...state.builderWithdrawals],
  partials: [...state.partials],
})
