// Spec 4.3: the first funding of an address.
import { contract } from '#api/contract/contract.ts'
import type { FundingRecord } from '#api/contract/wire/explorer.ts'
import { createHandler } from '#http/handler.ts'
import { readAddress, requireServedChain } from '../chains.ts'
import type { ExplorerContext } from '../context.ts'
import { wrapResult } from '../envelope.ts'
import { findFirstFunding } from '../funding/find-first-funding.ts'
import type { Funding } from '../funding/fundings.ts'

export const fundedBy = createHandler(
  contract['explorer.fundedBy'],
  async ({ chainid, address }, context: ExplorerContext) => {
    const { funding, confidence } = await findFirstFunding(context, chainid, readAddress(address))
    if (!funding) return { is: 'nothing', confidence }
    return { ...wrapResult(toFundingRecord(funding)), confidence }
  },
  requireServedChain,
)

export const toFundingRecord = (funding: Funding): FundingRecord => ({
  block: funding.block,
  timeStamp: String(funding.timeUnix),
  fundingAddress: funding.funder,
  fundingTxn: funding.tx,
  value: funding.valueWei.toString(),
})
