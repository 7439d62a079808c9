// Spec 4.3. A stored record is the answer when a probe has proven it, or when every block before it has been read;
// "nothing" only when every final block has (decision 0015): otherwise an earlier transfer may lie where nobody has
// looked. Where the store cannot tell, a node is searched (decision 0017).
import { contract } from '#api/contract.ts'
import type { FundingRecord } from '#api/wire/explorer.ts'
import { Fault, invalid } from '#core/fault.ts'
import type { Range } from '#core/ranges.ts'
import { answer, type Confidence, type Desk, type Outcome } from '#serve/answer.ts'
import { servedChain } from './chains.ts'
import { type Funding, findFunding, type Proof } from './fundings.ts'
import { findNear } from './index-near.ts'
import { probe, probeable, wantSurer } from './probe.ts'
import { shape } from './shape.ts'
import { confidenceOf, firstHole, type Standing, standingOf } from './standing.ts'

const addressText = /^0x[0-9a-f]{40}$/i

type FundedBy = Outcome<{ status: string; message: string; result: FundingRecord }>

export const fundedBy = answer(
  contract['explorer.fundedBy'],
  shape,
  async ({ chainid, address: given }, desk) => {
    if (!addressText.test(given)) throw invalid(['query', 'address'], 'must be 0x and 40 hexadecimal digits')
    const address = given.toLowerCase()
    // The standing before the rows: what is read while we ask may bring rows that the standing does not speak of yet, never
    // the other way round.
    const standing = await standingOf(desk, chainid)
    const funding = await findFunding(desk.state, chainid, address)
    if (funding?.proven === 'probed') return found(funding, shownFor(funding))
    const unread = unreadBefore(standing, funding)
    if (!unread) return funding ? found(funding, confidenceOf(standing)) : fromNear(desk, chainid, address, standing)
    if (funding?.proven && isEnough(desk, funding.proven)) {
      await wantSurer(desk, standing, funding)
      return found(funding, shownFor(funding))
    }
    if (!probeable(desk, chainid)) throw notCovered(chainid, unread, standing)
    // The one exception to "answers come from the store": the search has its own bounds, within the request's time.
    const probed = await probe(desk, chainid, address)
    return probed.funding ? found(probed.funding, probed.confidence) : { is: 'nothing', confidence: probed.confidence }
  },
  servedChain,
)

/** Every final block has been read and brought nothing; the run of blocks that follows them may have. */
async function fromNear(desk: Desk, chain: string, address: string, standing: Standing): Promise<FundedBy> {
  const near = await findNear(desk.state, chain, address)
  if (near) return found(near, { asOf: near.block, finality: 'head', coverage: 'complete' })
  // It may have become final between the two looks.
  const final = await findFunding(desk.state, chain, address)
  return final ? found(final, confidenceOf(standing)) : { is: 'nothing', confidence: confidenceOf(standing) }
}

const found = (funding: Funding, confidence: Confidence): FundedBy => ({
  is: 'body',
  body: { status: '1', message: 'OK', result: toRecord(funding) },
  confidence,
})

/** What an earlier setting let be stored may not be enough for the present one (decision 0172). */
const isEnough = ({ settings }: Desk, proof: Proof): boolean =>
  proof !== 'looked' || settings.explorer.probe.unsure === 'answer'

const shownFor = ({ block, proven }: Funding): Confidence => ({
  asOf: block,
  finality: 'finalized',
  ...(proven && { coverage: proven }),
})

function unreadBefore(standing: Standing, funding: Funding | undefined): Range | 'all' | undefined {
  if (funding) return firstHole(standing, funding.block + 1)
  return standing.span.until === standing.span.from ? 'all' : firstHole(standing, standing.span.until)
}

function notCovered(chain: string, unread: Range | 'all', standing: Standing): Fault {
  const blocks =
    unread === 'all'
      ? `No block of chain ${chain} has`
      : `Blocks ${unread.from} to ${unread.until - 1} of chain ${chain} have not`
  return new Fault('explorer.not_covered', {
    says: `${blocks} been read yet, so the first funding of this address is not known`,
    headers: { 'x-tetrad-coverage': confidenceOf(standing).coverage ?? 'none' },
  })
}

const toRecord = (funding: Funding): FundingRecord => ({
  block: funding.block,
  timeStamp: String(funding.timeUnix),
  fundingAddress: funding.funder,
  fundingTxn: funding.tx,
  value: funding.valueWei.toString(),
})
