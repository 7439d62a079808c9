// Beyond the specification: labels by words (decision 0097).
import { extensions } from '#api/extensions.ts'
import type { FoundLabel } from '#api/wire/label-search.ts'
import { invalid } from '#core/fault.ts'
import { answer, type RawQuery } from '#serve/answer.ts'
import { servedChain } from './chains.ts'
import type { ExplorerContext } from './context.ts'
import { type Entry, searchEntries } from './label-table.ts'
import { askedWords } from './label-words.ts'
import { shape } from './shape.ts'

export const labelSearch = answer(
  extensions['explorer.labelSearch'],
  shape,
  async ({ q, chainid, limit }, context: ExplorerContext) => {
    const words = askedWords(q)
    if (words.length === 0) throw invalid(['query', 'q'], 'must hold a word, a slug or the beginning of an address')
    const found = await searchEntries(context, { words, chain: chainid, limit })
    if (found.length === 0) return { is: 'nothing' }
    return { is: 'body', body: { status: '1', message: 'OK', result: found.map(toFound) } }
  },
  servedChainIfGiven,
)

/** Left out, it means every chain. */
function servedChainIfGiven(query: RawQuery, context: ExplorerContext): void {
  if (query.chainid !== undefined && query.chainid !== '') servedChain(query, context)
}

const toFound = ({ kind, chain, name, subject, entity, source, confidence }: Entry): FoundLabel => {
  if (kind === 'entity') return { kind, chainid: chain, name, slug: subject }
  return { kind, chainid: chain, name, ...(entity !== '' && { slug: entity }), address: subject, source, confidence }
}
