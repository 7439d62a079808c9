// Searches all interfaces for a text. An interface that fails, or that the key may not use, has no results.
import type { UseQueryResult } from '@tanstack/preact-query'
import type { InputOf } from '#api/client.ts'
import { type Network, networks } from '#api/wire/networks.ts'
import { fetchTransaction } from '../pages/explorer/lookups.ts'
import { formatCount, shortenHex } from '../parts/format.ts'
import { hrefOf } from '../route.ts'
import { useConsoleContext } from '../session.tsx'
import { type Calling, useCalls } from '../use-endpoint.ts'
import { interpretSearch, type SearchTargets } from './interpret.ts'
import type { RecentItem } from './recent-items.ts'

export interface SearchResult extends RecentItem {
  readonly detail?: string | undefined
}

/** Results of each search. */
const limit = 5

export function useSearchResults(text: string): UseQueryResult<readonly SearchResult[]> {
  const { chains = [] } = useConsoleContext().session
  return useCalls(
    ['search', text],
    async (calling) => (await settle(searchesFor(calling, interpretSearch(text), chains))).flat(),
    { staleMs: 30_000, keepPrevious: true },
  )
}

const settle = (searches: readonly Promise<SearchResult[]>[]): Promise<SearchResult[][]> =>
  Promise.all(searches.map((search) => search.catch(() => [])))

type Chains = readonly { readonly id: string; readonly name: string }[]

function searchesFor(
  calling: Calling,
  { address, transaction, quote, validatorIndex, pubkey, marketId, words }: SearchTargets,
  chains: Chains,
): Promise<SearchResult[]>[] {
  const { client, key } = calling
  const searches: Promise<SearchResult[]>[] = []
  if (quote !== undefined)
    searches.push(Promise.resolve([{ kind: 'Quote', label: quote, href: hrefOf('fx', [quote]) }]))
  if (transaction !== undefined) searches.push(transactions(transaction, key))
  if (address !== undefined) {
    const onChains = chains.map(({ id, name }) => ({
      kind: 'Address',
      label: shortenHex(address),
      href: hrefOf('explorer', [id, address]),
      detail: `on ${name}`,
    }))
    searches.push(Promise.resolve(onChains))
    for (const network of networks) searches.push(validatorsWith(calling, network, address))
  }
  if (validatorIndex !== undefined || pubkey !== undefined)
    for (const network of networks)
      searches.push(
        client.validators
          .find({ network, limit, ...(pubkey === undefined ? { index: validatorIndex } : { pubkey }) }, calling)
          .then(({ validators }) =>
            validators.map(({ validatorIndex: index, pool }) => ({
              kind: 'Validator',
              label: `Validator ${index}`,
              href: hrefOf('validators', [index], { network }),
              detail: [network, pool].filter(Boolean).join(', '),
            })),
          ),
      )
  if (marketId !== undefined)
    searches.push(client.markets.byId({ id: marketId }, calling).then((market) => [toMarket(market)]))
  if (words !== undefined) searches.push(...wordSearches(calling, words))
  return searches
}

async function transactions(hash: string, key: string): Promise<SearchResult[]> {
  const { fundings } = await fetchTransaction(hash, key)
  const detail = fundings.length === 1 ? 'funded 1 address' : `funded ${fundings.length} addresses`
  return [{ kind: 'Transaction', label: shortenHex(hash), href: hrefOf('explorer', ['tx', hash]), detail }]
}

async function validatorsWith(calling: Calling, network: Network, address: string): Promise<SearchResult[]> {
  const { validators } = calling.client
  const found = await Promise.all([
    validators.find({ network, depositAddress: address, limit: 1 }, calling),
    validators.find({ network, withdrawalAddress: address, limit: 1 }, calling),
  ])
  if (found.every(({ validators }) => validators.length === 0)) return []
  const href = hrefOf('validators', [], { network, q: address })
  return [{ kind: 'Validators', label: `Validators of ${shortenHex(address)}`, href, detail: network }]
}

const wordSearches = (calling: Calling, q: string): Promise<SearchResult[]>[] => [
  labels(calling, { q, limit }),
  pools(calling, { kind: 'pool', q, limit }),
  pools(calling, { kind: 'operator', q, limit }),
  markets(calling, { q, limit }),
]

const labels = async (calling: Calling, input: InputOf<'explorer.labelSearch'>) => {
  const { result } = await calling.client.explorer.labelSearch(input, calling)
  const results = result.map(({ name, address, chainid, slug = '' }): SearchResult => {
    if (address === undefined) return { kind: 'Entity', label: name, href: hrefOf('explorer', ['entity', slug]) }
    return { kind: 'Address', label: name, href: hrefOf('explorer', [chainid, address]), detail: shortenHex(address) }
  })
  // An entity is found once for each of its chains.
  return [...new Map(results.map((item) => [item.href, item])).values()]
}

const pools = async (calling: Calling, input: InputOf<'validators.entities'>): Promise<SearchResult[]> => {
  const query = { ...input, sort: 'validators', sortOrder: 'desc' } as const
  return (await calling.client.validators.entities(query, calling)).entities.map(({ name, validators }) => ({
    kind: input.kind === 'operator' ? 'Operator' : 'Pool',
    label: name,
    href: hrefOf('validators', [], { network: 'mainnet', q: name }),
    detail: validators === null ? undefined : `${formatCount(validators)} validators`,
  }))
}

const markets = async (calling: Calling, input: InputOf<'markets.search'>) =>
  (await calling.client.markets.search(input, calling)).markets.map(toMarket)

const toMarket = ({ slug = '', question }: { readonly slug?: string; readonly question?: string }): SearchResult => ({
  kind: 'Market',
  label: question || slug,
  href: hrefOf('markets', [slug]),
})

/** Something to open before anything is typed: large pools, labelled addresses and markets. */
export function useSuggestions(): readonly SearchResult[] {
  const { data = [] } = useCalls(
    ['search suggestions'],
    async (calling) => {
      const found = await settle([
        pools(calling, { kind: 'pool', limit: 2 }),
        // A word that most label lists contain.
        labels(calling, { q: 'exchange', limit: 50 }),
        markets(calling, { limit: 2 }),
      ])
      return found.flatMap((results) => results.slice(0, 2))
    },
    { staleMs: 60_000 },
  )
  return data
}
