// What the end of an epoch changes since Gloas: queued deposits and consolidations, and payments of builders. Also the
// upgrade of the state at the fork.
import { far, least } from '../amounts.ts'
import type { ChainState } from '../chain.ts'
import { depositToBuilder, isBuilderCredentials, payByQuorum } from './builders.ts'
import { activationChurn } from './churn.ts'
import { createGloasState } from './gloas-state.ts'

export function processGloasQueues(chain: ChainState, ended: number): void {
  processDeposits(chain, ended)
  processConsolidations(chain, ended)
  payByQuorum(chain, ended)
}

function processDeposits(chain: ChainState, ended: number): void {
  const { data, gloas, constants } = chain
  const finalizedSlot = data.finalized * chain.plan.slotsPerEpoch
  const available = gloas.depositGwei + activationChurn(chain, ended)
  const postponed: typeof data.queue = []
  let used = 0n
  let isLimitReached = false
  for (let count = 0; count < constants.depositsPerEpoch; count++) {
    const deposit = data.queue[0]
    if (!deposit || deposit.slot > finalizedSlot) break
    const { gwei, slot: _slot, isExcess: _isExcess, ...identity } = deposit
    const known = chain.validators.find(({ pubkey }) => pubkey === identity.pubkey)
    const isWithdrawn = known !== undefined && known.withdrawable <= ended
    if (known && !isWithdrawn && known.exit !== far) postponed.push(deposit)
    else {
      isLimitReached = !isWithdrawn && used + gwei > available
      if (isLimitReached) {
        chain.truth.note('deposit limit')
        break
      }
      if (!isWithdrawn) used += gwei
      if (known) known.balance += gwei
      else chain.enter(identity, gwei, far)
    }
    data.queue.shift()
  }
  data.queue.push(...postponed)
  gloas.depositGwei = isLimitReached ? available - used : 0n
}

function processConsolidations(chain: ChainState, ended: number): void {
  const { consolidations } = chain.data
  while (consolidations[0]) {
    const { from, to } = consolidations[0]
    const source = chain.at(from)
    if (!source.slashed && source.withdrawable > ended + 1) return
    consolidations.shift()
    if (source.slashed) continue
    const gwei = least(source.balance, source.effective)
    source.balance -= gwei
    chain.at(to).balance += gwei
  }
}

/** Queued deposits of builders become builders, unless their key is a validator's. */
export function upgradeToGloas(chain: ChainState, epoch: number, latestHash: string, emptyRequestsRoot: string): void {
  const { data, plan } = chain
  data.gloas = createGloasState(chain.constants, plan.slotsPerEpoch, latestHash, emptyRequestsRoot)
  const validators = new Set(chain.validators.map(({ pubkey }) => pubkey))
  const remaining: typeof data.queue = []
  for (const deposit of data.queue) {
    const { pubkey, credentials } = deposit
    const isBuilder = chain.gloas.builders.some((builder) => builder.pubkey === pubkey)
    const isOfValidator = validators.has(pubkey) || remaining.some((other) => other.pubkey === pubkey)
    if (isBuilder || (!isOfValidator && isBuilderCredentials(credentials))) {
      depositToBuilder(chain, deposit, deposit.slot, epoch)
      chain.truth.note('builder at the fork')
    } else remaining.push(deposit)
  }
  data.queue = remaining
}
