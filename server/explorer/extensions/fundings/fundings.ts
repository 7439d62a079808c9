// Extension: the first fundings of many addresses, from stored data (behaviour/explorer.md#many-fundings).
import { extensions } from '#api/contract/extensions.ts'
import { invalid } from '#core/fault.ts'
import { createHandler } from '#http/handler.ts'
import { addressMust, requireServedChain, toAddress } from '../../chains.ts'
import type { ExplorerContext } from '../../context.ts'
import { wrapResult } from '../../envelope.ts'
import { readStoredFundings } from './read-stored-fundings.ts'

export const fundings = createHandler(
  extensions['explorer.fundings'],
  async ({ chainid, addresses }, context: ExplorerContext) => {
    const { records, confidence } = await readStoredFundings(context, chainid, addresses.map(readListed))
    return { ...wrapResult([...records]), confidence }
  },
  requireServedChain,
)

function readListed(text: string, at: number): string {
  const address = toAddress(text)
  if (address === undefined) throw invalid(['query', 'addresses'], `${addressMust}: address ${at + 1} is not one`)
  return address
}
