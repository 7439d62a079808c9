// Searches the first funding of an address with what is known about the lists of the nodes: nodes that returned an
// incomplete list are not asked for lists, until they return the same list completely (../grounds.ts).
import { Fault } from '#core/fault.ts'
import type { ExplorerContext } from '#explorer/context.ts'
import type { ChainNode } from '#explorer/nodes.ts'
import { type DistrustedNode, readDistrustedNodes } from '../grounds.ts'
import { runSearchWrite } from '../search-writes.ts'
import { AccountReader, type SearchLimits } from './account-reader.ts'
import { type SearchResult, searchFunding, verifyLists } from './funding-search.ts'
import { IncompleteList } from './transfer-list-lookup.ts'

/** How often the list of a distrusted node is requested again. */
const recheckEveryMs = 60_000
/** Of the time for the search. */
const recheckShare = 1 / 4

/** `onReader`: called with the reader, which knows how far the search has come. */
export async function searchAccount(
  context: ExplorerContext,
  node: ChainNode,
  address: string,
  limits: SearchLimits,
  onReader: (reader: AccountReader) => void = () => {},
): Promise<SearchResult> {
  await recheckLists(context, node, limits)
  // Each round ends with a node that is distrusted from then on.
  for (let round = 0; ; round++) {
    const distrusted = new Map((await readDistrustedNodes(context.ingest, node.chain.id)).map((row) => [row.node, row]))
    const reader = new AccountReader(node, address, limits, (name) => describeDistrust(distrusted.get(name)))
    onReader(reader)
    try {
      return await searchFunding(reader)
    } catch (error) {
      if (!(error instanceof IncompleteList)) throw error
      const { reason } = error
      for (const name of error.nodes) {
        await runSearchWrite(context, 'putDistrusted', { chain: node.chain.id, node: name, address, reason })
        context.explorer.listChecks.set(`${node.chain.id}/${name}`, context.clock.monotonicMs())
      }
      const names = node.rpc.health().map(({ name }) => name)
      const isUsed = (name: string) => !distrusted.has(name) && !error.nodes.includes(name)
      if (!node.traceFilter((index) => isUsed(names[index] ?? '')) || round >= names.length) throw error
    }
  }
}

export const describeDistrust = (row: DistrustedNode | undefined): string | undefined =>
  row && `it did not list all transfers of ${row.address}`

/** Ends the distrust of nodes whose incomplete lists are complete. Of each node at most once in `recheckEveryMs`. */
async function recheckLists(context: ExplorerContext, node: ChainNode, limits: SearchLimits): Promise<void> {
  const { clock, explorer, ingest } = context
  const rows = await readDistrustedNodes(ingest, node.chain.id)
  const startMs = clock.monotonicMs()
  const untilMs = startMs + (limits.untilMs - startMs) * recheckShare
  for (const [name, own] of Map.groupBy(rows, (row) => row.node)) {
    const key = `${node.chain.id}/${name}`
    const lastMs = explorer.listChecks.get(key)
    if (lastMs !== undefined && startMs - lastMs < recheckEveryMs) continue
    explorer.listChecks.set(key, startMs)
    for (const row of own)
      if (await isListComplete(node, row, { ...limits, untilMs })) await removeDistrust(context, row)
  }
}

const removeDistrust = (context: ExplorerContext, row: DistrustedNode): Promise<unknown> =>
  runSearchWrite(context, 'removeDistrusted', row)

async function isListComplete(node: ChainNode, row: DistrustedNode, limits: SearchLimits): Promise<boolean> {
  const onlyThisNode = (name: string) => (name === row.node ? undefined : 'another node is checked')
  const reader = new AccountReader(node, row.address, limits, onlyThisNode)
  try {
    await verifyLists(reader)
    return reader.lookedUpBy === 'trace_filter'
  } catch (error) {
    if (error instanceof Fault) return false
    throw error
  }
}
