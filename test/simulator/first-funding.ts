// The first fundings on a simulated chain, by brute force: the first transfers to an address that count as a funding.
import type { SimulatedChain, TrueTransfer } from '#simulator/evm/chain.ts'

export function firstFunding(
  chain: SimulatedChain,
  address: string,
  untilBlock = Number.POSITIVE_INFINITY,
): TrueTransfer | undefined {
  const found = firstFundings(chain).get(address)
  return found && found.block <= untilBlock ? found : undefined
}

/** Of all addresses. */
export function firstFundings({ blocks }: SimulatedChain): Map<string, TrueTransfer> {
  const first = new Map<string, TrueTransfer>()
  for (const { transfers } of blocks) {
    for (const transfer of transfers)
      if (transfer.from !== transfer.to && !first.has(transfer.to)) first.set(transfer.to, transfer)
  }
  return first
}
