// Builds the parts of a simulated block that are new in Gloas: what the payload of its parent changes, withdrawals, the
// bid and the requests of its own payload.
import type { SeededRandom } from '../../seeded-random.ts'
import { far } from '../amounts.ts'
import type { BlockOperations, PayloadPlan, SlotContext } from '../behaviour.ts'
import type { ChainState } from '../chain.ts'
import type { Identity, SimulatedDeposit, SimulatedPayload } from '../records.ts'
import { acceptBid, builderCredentials } from './builders.ts'
import { requestsRoot } from './encode-gloas.ts'
import {
  type GloasParts,
  noRequests,
  type PayloadDelivery,
  type SimulatedBid,
  type SimulatedPayloadVotes,
  type SimulatedRequests,
} from './gloas-records.ts'
import { applyParentPayload, pendingPartials } from './requests.ts'
import { addressIn, hasAddress, withdrawExpected } from './withdrawals.ts'

interface NewestPayload {
  readonly delivery: PayloadDelivery
  readonly requests: SimulatedRequests
  /** Of the execution block. */
  readonly number: number
}

/** What the next block needs to know since Gloas. */
export const createPayloadData = () => ({
  /** Of the newest block. */
  newest: undefined as NewestPayload | undefined,
  /** Votes of the payload committee of the previous slot. */
  payloadVotes: [] as readonly SimulatedPayloadVotes[],
})

/** Default of `Behaviour.payloadAt`. */
export const selfBuilt: PayloadPlan = { builder: 'self', value: 0n, executionPayment: 0n, delivery: 'full' }

/** Applies the payload of the newest block if the new one is built on it, then the withdrawals of the new block. */
export function applyParent(
  chain: ChainState,
  newest: NewestPayload | undefined,
  isFull: boolean,
  { slot, epoch }: Pick<SlotContext, 'slot' | 'epoch'>,
): { readonly isFull: boolean; readonly requests: SimulatedRequests } {
  const requests = isFull ? (newest?.requests ?? noRequests) : noRequests
  if (isFull) applyParentPayload(chain, requests, slot)
  withdrawExpected(chain, epoch)
  return { isFull, requests }
}

/** Deposits that the execution chain contains, with the number of their block. */
export const depositsOf = ({ deposits }: SimulatedRequests, block: number): SimulatedDeposit[] =>
  deposits.map(({ pubkey, credentials, gwei, from }) => ({ pubkey, credentials, gwei, from, block }))

interface BidInput {
  readonly parentRoot: string
  readonly payload: SimulatedPayload
  readonly plan: PayloadPlan
  readonly feeRecipient: string
  readonly requests: SimulatedRequests
}

/** Makes the bid of a block and records its payment. */
export function bidFor(
  chain: ChainState,
  { slot, epoch, proposer }: Pick<SlotContext, 'slot' | 'epoch' | 'proposer'>,
  { parentRoot, payload, plan, feeRecipient, requests }: BidInput,
): SimulatedBid {
  const bid: SimulatedBid = {
    slot,
    parentHash: chain.gloas.latestHash,
    parentRoot,
    blockHash: payload.hash,
    prevRandao: payload.prevRandao,
    feeRecipient,
    builder: plan.builder,
    value: plan.value,
    executionPayment: plan.executionPayment,
    requestsRoot: requestsRoot(requests, chain.plan),
  }
  acceptBid(chain, bid, proposer, epoch)
  return bid
}

/** Applies what the block itself contains, and returns what it lists. */
export function applyBlockOperations(
  chain: ChainState,
  { exits, credentialsChanges }: BlockOperations,
  epoch: number,
): Pick<GloasParts, 'exits' | 'credentialsChanges'> {
  const exiting = [...new Set(exits)].filter((index) => {
    const { activation, exit, slashed } = chain.at(index)
    return !slashed && activation <= epoch && exit === far && pendingPartials(chain, index) === 0n
  })
  for (const index of exiting) chain.beginExit(index, epoch)
  const changes = credentialsChanges
    .filter((index) => chain.at(index).credentials.startsWith('0x00'))
    .map((validator) => ({ validator, address: chain.at(validator).depositor }))
  for (const { validator, address } of changes)
    chain.at(validator).credentials = `0x01${'0'.repeat(22)}${address.slice(2)}`
  return { exits: exiting, credentialsChanges: changes }
}

/** The requests of a payload. Some of them are not allowed, and the chain will ignore them. */
export function requestsOf(
  chain: ChainState,
  operations: BlockOperations,
  newValidator: () => Identity,
  draws: SeededRandom,
): SimulatedRequests {
  const senderOf = (index: number): string => {
    const { credentials, depositor } = chain.at(index)
    return hasAddress(credentials) ? addressIn(credentials) : depositor
  }
  const keyOf = (index: number): string => chain.at(index).pubkey
  const owned = (index: number, gwei: bigint) => ({ sender: senderOf(index), pubkey: keyOf(index), gwei })
  const builderAt = (index: number) => chain.gloas.builders[index]
  return {
    deposits: operations.deposits.map(({ validator, gwei, from }) => {
      const { pubkey, credentials, depositor } = validator === 'new' ? newValidator() : chain.at(validator)
      return { pubkey, credentials, gwei, from: from ?? depositor }
    }),
    withdrawals: [
      ...operations.requestedExits.map((index) => owned(index, 0n)),
      ...operations.partialWithdrawals.map(({ validator, gwei }) => owned(validator, gwei)),
    ],
    consolidations: [
      ...operations.consolidations.map(({ from, to }) => ({
        ...{ sender: senderOf(from), source: keyOf(from), target: keyOf(to) },
      })),
      ...operations.switches.map((index) => ({
        ...{ sender: senderOf(index), source: keyOf(index), target: keyOf(index) },
      })),
    ],
    builderDeposits: operations.builderDeposits.flatMap(({ builder, gwei }) => {
      if (builder === 'new') return [{ ...newBuilder(draws), gwei }]
      const known = builderAt(builder)
      return known ? [{ pubkey: known.pubkey, credentials: builderCredentials(known.address), gwei }] : []
    }),
    builderExits: operations.builderExits.flatMap((index) => {
      const known = builderAt(index)
      return known ? [{ sender: known.address, pubkey: known.pubkey }] : []
    }),
  }
}

export const newBuilder = (draws: SeededRandom): { readonly pubkey: string; readonly credentials: string } => ({
  pubkey: `0x${draws.hex(96)}`,
  credentials: builderCredentials(`0x${draws.hex(40)}`),
})
