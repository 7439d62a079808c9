// The limits of EIP-8061: how much stake may exit, consolidate and be deposited per epoch.
import { eth, least } from '../amounts.ts'
import type { ChainState } from '../chain.ts'

const wholeEth = (gwei: bigint): bigint => gwei - (gwei % eth)

/** Gwei per epoch. */
export function exitChurn(chain: ChainState, epoch: number): bigint {
  const { churnMin, churnQuotient } = chain.constants
  const share = chain.totalActive(epoch) / churnQuotient
  return wholeEth(share > churnMin ? share : churnMin)
}

/** Of deposits, in gwei per epoch. */
export const activationChurn = (chain: ChainState, epoch: number): bigint =>
  least(chain.constants.activationChurnMax, exitChurn(chain, epoch))

export const consolidationChurn = (chain: ChainState, epoch: number): bigint =>
  wholeEth(chain.totalActive(epoch) / chain.constants.consolidationQuotient)

/** The epoch in which this stake exits. The next exits get what is left of its limit. */
export function reserveExit(chain: ChainState, gwei: bigint, epoch: number): number {
  const { gloas } = chain
  const reserved = reserve(
    chain,
    { epoch: gloas.exitEpoch, gwei: gloas.exitGwei },
    gwei,
    epoch,
    exitChurn(chain, epoch),
  )
  gloas.exitEpoch = reserved.epoch
  gloas.exitGwei = reserved.gwei
  return reserved.epoch
}

export function reserveConsolidation(chain: ChainState, gwei: bigint, epoch: number): number {
  const { gloas } = chain
  const last = { epoch: gloas.consolidationEpoch, gwei: gloas.consolidationGwei }
  const reserved = reserve(chain, last, gwei, epoch, consolidationChurn(chain, epoch))
  gloas.consolidationEpoch = reserved.epoch
  gloas.consolidationGwei = reserved.gwei
  return reserved.epoch
}

interface Reserved {
  readonly epoch: number
  /** What is left of the limit of that epoch. */
  readonly gwei: bigint
}

function reserve(chain: ChainState, last: Reserved, gwei: bigint, now: number, perEpoch: bigint): Reserved {
  const earliestEpoch = now + 1 + chain.constants.activationDelay
  const [epoch, left] = last.epoch < earliestEpoch ? [earliestEpoch, perEpoch] : [last.epoch, last.gwei]
  if (gwei <= left) return { epoch, gwei: left - gwei }
  const more = (gwei - left - 1n) / perEpoch + 1n
  return { epoch: epoch + Number(more), gwei: left + more * perEpoch - gwei }
}
