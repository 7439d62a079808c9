// Compares first fundings with the traces and balances of geth, found by an index or by searches.
import type { Comparison } from './compare.ts'
import { type FundingTruth, hasFirstBalance } from './funding-truth.ts'
import type { FundingRow } from './tetrad-server.ts'

/** Contracts and delegated accounts: a search refuses them without `trace_filter` (docs/explorer.md). */
const refusedBySearches = /index/

export function compareFundings(
  comparison: Comparison,
  what: string,
  rows: readonly FundingRow[],
  { first }: FundingTruth,
  refusable: ReadonlySet<string> = new Set(),
): void {
  let refused = 0
  for (const { address, status, block, funder, tx, value_wei, reason } of rows) {
    const expected = first.get(address)
    if (status === 'failed' && refusable.has(address) && refusedBySearches.test(reason ?? '')) refused += 1
    else if (!expected) comparison.compare(what, address, status, 'none')
    else
      comparison.compare(
        what,
        `${address} ${reason ?? ''}`,
        [String(block), funder, tx, value_wei],
        [...[String(expected.block), expected.from, expected.tx, String(expected.value)]],
      )
  }
  if (refused > 0) process.stdout.write(`${what}: ${refused} contracts and delegated accounts refused, as documented\n`)
}

/** `accounts`: those that had nothing before. */
export async function compareBalances(
  comparison: Comparison,
  url: string,
  { first }: FundingTruth,
  accounts: readonly string[],
): Promise<void> {
  for (const address of accounts) {
    const funding = first.get(address)
    if (funding)
      comparison.require('balances before and after a funding', address, await hasFirstBalance(url, address, funding))
  }
}
