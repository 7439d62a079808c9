// Verifies first fundings against a node: the transfer must be in its block, and a search must find no earlier one.
import { Fault } from '#core/fault.ts'
import { type Funding, isBefore, selectFundings } from '#explorer/funding/fundings.ts'
import type { SearchResult } from '#explorer/funding/probe/funding-search.ts'
import { searchAccount } from '#explorer/funding/probe/search-account.ts'
import { fundingsOf, transfersOf } from '#explorer/funding/transfers.ts'
import { type ChainNode, findNode } from '#explorer/nodes.ts'
import type { AppContext } from '#server/context.ts'
import {
  compareEach,
  nothingToVerify,
  randomBelow,
  SourceUnavailable,
  sampleOf,
  type Verification,
} from './verification.ts'

const probeMs = 30_000

export const fundingVerification: Verification = {
  name: 'first fundings against a node',
  todo: 'compare with a second node; if it agrees with the first, delete the row and read the blocks again (tetrad repair)',
  async run(context, count) {
    const nodes = context.settings.explorer.chains.flatMap(({ id }) => findNode(context, id) ?? [])
    if (nodes.length === 0) return nothingToVerify('no chain has a node')
    const items = await sampleOf(count, {
      takeFirst: async (limit) => {
        const found = await Promise.all(nodes.map((node) => fundingsFrom(context, node, new Uint8Array(20), limit)))
        return found.flat().slice(0, limit)
      },
      drawOne: async () => {
        const node = nodes[randomBelow(context, nodes.length)] as ChainNode
        const from = (bytes: Uint8Array) => fundingsFrom(context, node, bytes, 1)
        return (await from(context.random.bytes(20)))[0] ?? (await from(new Uint8Array(20)))[0]
      },
      keyOf: ({ stored }) => `${stored.chain} ${stored.address}`,
    })
    return compareEach(items, async ({ node, stored }) => {
      try {
        return await compareFunding(context, node, stored)
      } catch (error) {
        throw error instanceof Fault ? new SourceUnavailable(error.message) : error
      }
    })
  },
}

/** Rows in the order of their addresses, from `from` on. */
async function fundingsFrom({ ingest }: AppContext, node: ChainNode, from: Uint8Array, limit: number) {
  const rows = 'fundings where chain = ? and address >= ? order by address limit ?'
  return (await selectFundings(ingest, rows, node.chain.id, from, limit)).map((stored) => ({ node, stored }))
}

async function compareFunding(context: AppContext, node: ChainNode, stored: Funding): Promise<string | undefined> {
  const { traces } = await node.capabilities()
  if (!traces) throw new Fault('explorer.no_traces')
  const difference = `chain ${node.chain.id} ${stored.address}: stored ${stored.tx} in block ${stored.block}`
  const untilMs = context.clock.monotonicMs() + probeMs
  const [seen] = await node.read([stored.block], { untilMs })
  const transfer =
    seen && fundingsOf(node.chain.id, transfersOf(seen)).find(({ address }) => address === stored.address)
  const isSame =
    transfer?.tx === stored.tx && transfer.valueWei === stored.valueWei && transfer.funder === stored.funder
  if (!isSame)
    return `${difference}, the node shows ${transfer ? `${transfer.tx} with ${transfer.valueWei} wei` : 'no such transfer'}`
  if (!node.chain.archive) return undefined
  const { fanOut } = context.settings.explorer.probe
  const funding = await searchOrSkip(searchAccount(context, node, stored.address, { fanOut, untilMs }))
  return funding && isBefore(funding, stored)
    ? `${difference}, the node shows ${funding.tx} in block ${funding.block}`
    : undefined
}

/** undefined also for an account that cannot be searched: then only the transfer in its block is compared. */
async function searchOrSkip(search: Promise<SearchResult>): Promise<Funding | undefined> {
  try {
    return (await search).funding
  } catch (error) {
    if (error instanceof Fault && error.code === 'explorer.needs_index') return undefined
    throw error
  }
}
