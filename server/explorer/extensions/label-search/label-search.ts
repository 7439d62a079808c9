// Extension: finds labels by words (behaviour/explorer.md#label-search).
import { extensions } from '#api/contract/extensions.ts'
import type { FoundLabel } from '#api/contract/wire/label-search.ts'
import { invalid } from '#core/fault.ts'
import { createHandler, type RawQuery } from '#http/handler.ts'
import { requireServedChain } from '../../chains.ts'
import type { ExplorerContext } from '../../context.ts'
import { wrapResult } from '../../envelope.ts'
import type { LabelSearchContext } from './context.ts'
import { queryWords } from './match-words.ts'
import { type SearchEntry, searchEntries } from './search-table.ts'

export const labelSearch = createHandler(
  extensions['explorer.labelSearch'],
  async ({ q, chainid, kind, limit }, context: LabelSearchContext) => {
    const words = queryWords(q)
    if (words.length === 0) throw invalid(['query', 'q'], 'must contain a word, a slug or the start of an address')
    const { entries, total } = await searchEntries(context, { words, chain: chainid, kind, limit })
    if (total === 0) return { is: 'nothing' }
    const { is, body } = wrapResult(entries.map(toFoundLabel))
    return { is, body: { ...body, total } }
  },
  servedChainIfGiven,
)

/** Without `chainid`, all chains are searched. */
function servedChainIfGiven(query: RawQuery, context: ExplorerContext): void {
  if (query.chainid !== undefined && query.chainid !== '') requireServedChain(query, context)
}

const toFoundLabel = ({ kind, chain, name, subject, entity, source, confidence }: SearchEntry): FoundLabel => {
  if (kind === 'entity') return { kind, chainid: chain, name, slug: subject }
  return { kind, chainid: chain, name, ...(entity !== '' && { slug: entity }), address: subject, source, confidence }
}
