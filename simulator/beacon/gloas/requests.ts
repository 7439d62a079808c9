// Applies the requests of a payload. Since Gloas they take effect with the next block, and only if the payload is part
// of the chain. The chain ignores requests that are not allowed.
import { far, least, minActivation } from '../amounts.ts'
import type { ChainState } from '../chain.ts'
import { depositToBuilder, exitBuilder, isBuilderCredentials, payForDelivery } from './builders.ts'
import { consolidationChurn, reserveConsolidation, reserveExit } from './churn.ts'
import type { SimulatedRequests } from './gloas-records.ts'
import { addressIn, hasAddress } from './withdrawals.ts'

/** The payload of the newest block is part of the chain. `slot`: of the block that is built on it. */
export function applyParentPayload(chain: ChainState, requests: SimulatedRequests, slot: number): void {
  const { gloas, constants } = chain
  const epoch = Math.floor(slot / chain.plan.slotsPerEpoch)
  for (const { pubkey, credentials, gwei, from } of requests.deposits)
    chain.data.queue.push({ pubkey, credentials, depositor: from, gwei, slot })
  for (const request of requests.withdrawals) withdrawOrExit(chain, request, epoch)
  for (const request of requests.consolidations) consolidate(chain, request, epoch)
  for (const request of requests.builderDeposits)
    if (isBuilderCredentials(request.credentials)) depositToBuilder(chain, request, slot, epoch)
  for (const request of requests.builderExits) exitBuilder(chain, request, epoch)
  payForDelivery(chain, epoch)
  gloas.availability[gloas.bid.slot % constants.historicalRoots] = true
  gloas.latestHash = gloas.bid.blockHash
}

/** The validator of a request, if its sender may request something and the validator is active and not exiting. */
function findOwned(chain: ChainState, pubkey: string, sender: string, epoch: number): number | undefined {
  const index = chain.validators.findIndex((validator) => validator.pubkey === pubkey)
  if (index < 0) return undefined
  const { credentials } = chain.at(index)
  const isOwner = hasAddress(credentials) && addressIn(credentials) === sender
  return isOwner && isStaying(chain, index, epoch) ? index : undefined
}

const isStaying = (chain: ChainState, index: number, epoch: number): boolean => {
  const { activation, exit } = chain.at(index)
  return activation <= epoch && exit === far
}

/** Gwei of requested withdrawals that have not been made. */
export const pendingPartials = ({ gloas }: ChainState, index: number): bigint =>
  gloas.partials.reduce((sum, { validator, gwei }) => (validator === index ? sum + gwei : sum), 0n)

function withdrawOrExit(chain: ChainState, request: SimulatedRequests['withdrawals'][number], epoch: number): void {
  const index = findOwned(chain, request.pubkey, request.sender, epoch)
  if (index === undefined) return
  const pending = pendingPartials(chain, index)
  if (request.gwei === 0n) {
    if (pending === 0n) chain.beginExit(index, epoch)
    return
  }
  const { credentials, effective, balance } = chain.at(index)
  const excess = balance - minActivation - pending
  if (!credentials.startsWith('0x02') || effective < minActivation || excess <= 0n) return
  const gwei = least(excess, request.gwei)
  const withdrawable = reserveExit(chain, gwei, epoch) + chain.constants.withdrawalDelay
  chain.gloas.partials.push({ validator: index, gwei, withdrawable })
}

function consolidate(chain: ChainState, request: SimulatedRequests['consolidations'][number], epoch: number): void {
  const { sender, source, target } = request
  const from = findOwned(chain, source, sender, epoch)
  if (from === undefined) return
  if (source === target) {
    switchToCompounding(chain, from)
    return
  }
  const to = chain.validators.findIndex(({ pubkey }) => pubkey === target)
  if (to < 0 || !chain.at(to).credentials.startsWith('0x02') || !isStaying(chain, to, epoch)) return
  if (consolidationChurn(chain, epoch) <= minActivation || pendingPartials(chain, from) > 0n) return
  const exit = reserveConsolidation(chain, chain.at(from).effective, epoch)
  Object.assign(chain.at(from), { exit, withdrawable: exit + chain.constants.withdrawalDelay })
  chain.data.consolidations.push({ from, to, epoch })
  chain.data.consolidated.push(from)
  chain.truth.note('consolidation')
}

/** The balance above 32 ETH goes through the queue of deposits. */
function switchToCompounding(chain: ChainState, index: number): void {
  const validator = chain.at(index)
  if (!validator.credentials.startsWith('0x01')) return
  validator.credentials = `0x02${validator.credentials.slice(4)}`
  chain.truth.note('switch to compounding')
  const gwei = validator.balance - minActivation
  if (gwei <= 0n) return
  validator.balance = minActivation
  const { pubkey, credentials, depositor } = validator
  chain.data.queue.push({ pubkey, credentials, depositor, gwei, slot: 0, isExcess: true })
}
