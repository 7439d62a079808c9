// The calls that a search makes, by what its text can be. Each asks for as many records as an endpoint returns at once,
// so that the number of matches is right after chains and networks are merged.
import type { InputOf } from '#api/client/client.ts'
import type { Group } from '#api/contract/routes.ts'
import type { Network } from '#api/contract/wire/networks.ts'
import { fetchTransaction } from '../pages/explorer/lookups.ts'
import { formatCount, shortenHex } from '../parts/format.ts'
import { hrefOf } from '../route.ts'
import type { Calling } from '../use-endpoint.ts'
import type { SearchTargets } from './interpret.ts'
import type { ResultKind, SearchResult } from './search-result.ts'

/** Results of one kind. */
export interface Found {
  readonly kind: ResultKind
  readonly results: readonly SearchResult[]
  /** Default: the number of results. */
  readonly total?: number
  /** There may be more matches; the endpoint does not report how many. */
  readonly hasMore?: boolean
}

export interface Search {
  /** What is searched. */
  readonly name: string
  /** Undefined: not of an interface. */
  readonly group?: Group
  readonly run: () => Promise<readonly Found[]>
}

/** The most that label and market searches return. */
const limit = 50

type Chains = readonly { readonly id: string; readonly name: string }[]

export function searchesFor(
  calling: Calling,
  targets: SearchTargets,
  chains: Chains,
  networks: readonly Network[],
): readonly Search[] {
  const { address, transaction, quote, validatorIndex, pubkey, marketId, words } = targets
  const { client, key } = calling
  const search = (group: Group, name: string, run: Search['run']): Search => ({ group, name, run })
  const searches: Search[] = []
  if (quote !== undefined) searches.push(search('fx', 'quotes', async () => [quoteOf(quote)]))
  if (transaction !== undefined) searches.push(search('explorer', 'transactions', () => transactions(transaction, key)))
  if (address !== undefined) {
    searches.push(search('explorer', 'addresses', async () => [addressOn(chains, address)]))
    for (const network of networks)
      searches.push(search('validators', 'validators', () => validatorsWith(calling, network, address)))
  }
  if (validatorIndex !== undefined || pubkey !== undefined)
    for (const network of networks) {
      const by = pubkey === undefined ? { index: validatorIndex } : { pubkey }
      searches.push(search('validators', 'validators', () => validators(calling, { network, limit, ...by })))
    }
  if (marketId !== undefined)
    searches.push(
      search('markets', 'markets', async () => [
        { kind: 'Market', results: [toMarket(await client.markets.byId({ id: marketId }, calling))] },
      ]),
    )
  if (words !== undefined) searches.push(...wordSearches(calling, words, networks))
  return searches
}

export function wordSearches(calling: Calling, q: string, networks: readonly Network[]): Search[] {
  const entities = networks.flatMap((network): Search[] => [
    { group: 'validators', name: 'pools', run: () => pools(calling, { network, kind: 'pool', q, limit }) },
    { group: 'validators', name: 'operators', run: () => pools(calling, { network, kind: 'operator', q, limit }) },
  ])
  return [
    ...entities,
    { group: 'explorer', name: 'labels', run: () => labels(calling, { q, kind: 'entity', limit }) },
    { group: 'explorer', name: 'labels', run: () => labels(calling, { q, kind: 'address', limit }) },
    { group: 'markets', name: 'markets', run: () => markets(calling, { q, limit }) },
  ]
}

const quoteOf = (quote: string): Found => ({
  kind: 'Quote',
  results: [{ kind: 'Quote', label: quote, href: hrefOf('fx', [quote]) }],
})

const addressOn = (chains: Chains, address: string): Found => ({
  kind: 'Address',
  results: chains.map(({ id, name }) => ({
    kind: 'Address',
    label: shortenHex(address),
    href: hrefOf('explorer', [id, address]),
    detail: `on ${name}`,
  })),
})

async function transactions(hash: string, key: string): Promise<Found[]> {
  const { fundings } = await fetchTransaction(hash, key)
  const detail = fundings.length === 1 ? 'funded 1 address' : `funded ${fundings.length} addresses`
  const href = hrefOf('explorer', ['tx', hash])
  return [{ kind: 'Transaction', results: [{ kind: 'Transaction', label: shortenHex(hash), href, detail }] }]
}

async function validators(calling: Calling, input: InputOf<'validators.find'>): Promise<Found[]> {
  const { network } = input
  const { validators: found, next } = await calling.client.validators.find(input, calling)
  const results = found.map(
    ({ validatorIndex: index, pool }): SearchResult => ({
      kind: 'Validator',
      label: `Validator ${index}`,
      href: hrefOf('validators', [index], { network }),
      detail: [network, pool].filter(Boolean).join(', '),
    }),
  )
  return [{ kind: 'Validator', results, hasMore: next !== null }]
}

async function validatorsWith(calling: Calling, network: Network, address: string): Promise<Found[]> {
  const { validators } = calling.client
  const found = await Promise.all([
    validators.find({ network, depositAddress: address, limit: 1 }, calling),
    validators.find({ network, withdrawalAddress: address, limit: 1 }, calling),
  ])
  if (found.every(({ validators }) => validators.length === 0)) return []
  const href = hrefOf('validators', [], { network, q: address })
  const label = `Validators of ${shortenHex(address)}`
  return [{ kind: 'Validators', results: [{ kind: 'Validators', label, href, detail: network }] }]
}

export async function labels(
  calling: Calling,
  input: InputOf<'explorer.labelSearch'> & { readonly kind: 'entity' | 'address' },
): Promise<Found[]> {
  const { result, total } = await calling.client.explorer.labelSearch(input, calling)
  const found = result.map(({ name, address, chainid, slug = '' }): SearchResult => {
    if (address === undefined) return { kind: 'Entity', label: name, href: hrefOf('explorer', ['entity', slug]) }
    return { kind: 'Address', label: name, href: hrefOf('explorer', [chainid, address]), detail: shortenHex(address) }
  })
  // An entity is found once for each of its chains, an address for each source of its labels. The best name is first.
  const results = [...new Map(found.toReversed().map((item) => [item.href, item])).values()].toReversed()
  const isAll = total <= result.length
  if (input.kind === 'entity') return [{ kind: 'Entity', results, hasMore: !isAll }]
  return [{ kind: 'Address', results, ...(!isAll && { total }) }]
}

export async function pools(calling: Calling, input: InputOf<'validators.entities'>): Promise<Found[]> {
  const { network = 'mainnet' } = input
  const kind = input.kind === 'operator' ? 'Operator' : 'Pool'
  const query = { ...input, sort: 'validators', sortOrder: 'desc' } as const
  const { entities, total } = await calling.client.validators.entities(query, calling)
  const results = entities.map(({ name, validators }): SearchResult => {
    const count = validators === null ? '' : `${formatCount(validators)} validators`
    const href = hrefOf('validators', [], { network, q: name })
    return { kind, label: name, href, detail: [network, count].filter(Boolean).join(', ') }
  })
  return [{ kind, results, total }]
}

export async function markets(calling: Calling, input: InputOf<'markets.search'>): Promise<Found[]> {
  const { markets: found } = await calling.client.markets.search(input, calling)
  return [{ kind: 'Market', results: found.map(toMarket), hasMore: found.length === limit }]
}

const toMarket = ({ slug = '', question }: { readonly slug?: string; readonly question?: string }): SearchResult => ({
  kind: 'Market',
  label: question || slug,
  href: hrefOf('markets', [slug]),
})
