// What there is to ask about. Given by whoever runs the suite, otherwise looked for: the contract's examples, and the
// first validators that the server knows.
import { contract } from '#api/contract.ts'
import { Skipped } from './check.ts'
import type { ServerUnderTest } from './server-under-test.ts'

/** Asked for at once; a server that cannot take so many is asked about some, one by one. */
const indicesMax = 10_000
const indicesTried = [12, 34, 0, 1, 2, 3, 10, 100, 1000, 10_000, 100_000, 500_000, 1_000_000]
const indicesWanted = 3

/** What was found on a site, for as long as its run lasts. The suite has no context. */
const samplesByServer = new WeakMap<ServerUnderTest, Map<string, Promise<unknown>>>()

/** Each is looked for once a run. */
function once<T>(site: ServerUnderTest, name: string, find: () => Promise<T>): Promise<T> {
  const known = samplesByServer.get(site) ?? new Map<string, Promise<unknown>>()
  samplesByServer.set(site, known)
  const there = known.get(name) ?? find()
  known.set(name, there)
  return there as Promise<T>
}

/** Those of the lowest indices that have duties in the newest window. */
async function activeValidators(site: ServerUnderTest): Promise<readonly number[]> {
  const indices = Array.from({ length: indicesMax }, (_, index) => index)
  const { body } = await site.call('validators.aggregateEffectiveness', { indices, size: indicesWanted })
  const data = (body as { data?: unknown } | undefined)?.data
  if (!Array.isArray(data)) return []
  const found = data.map((record: { validatorIndex?: unknown }) => record?.validatorIndex)
  return [...new Set(found.filter((index) => typeof index === 'number'))]
}

/** At least one index that the server knows. */
export async function validatorsOf(site: ServerUnderTest): Promise<readonly [number, ...number[]]> {
  const indices = await once(site, 'validators', async () => {
    if (site.samples.validators) return site.samples.validators
    const active = await activeValidators(site)
    if (active.length > 0) return active
    const known: number[] = []
    for (const index of indicesTried) {
      const { status } = await site.call('validators.metadata', { validator_index_or_pubkey: index })
      if (status === 200 && known.length < indicesWanted) known.push(index)
    }
    return known
  })
  if (indices.length === 0) throw new Skipped('no validator is known; name some with --validators')
  return indices as unknown as readonly [number, ...number[]]
}

export async function slugOf(site: ServerUnderTest): Promise<string> {
  const slug = await once(site, 'slug', async () => {
    const candidate = site.samples.slug ?? contract['markets.bySlug'].example.input.slug ?? ''
    const { status } = await site.call('markets.bySlug', { slug: candidate })
    return site.samples.slug !== undefined || status === 200 ? candidate : undefined
  })
  if (slug === undefined) throw new Skipped('no market is known; name one with --slug')
  return slug
}

export async function findAddress(site: ServerUnderTest): Promise<string> {
  const address = await once(site, 'address', async () => {
    const candidate = site.samples.address ?? contract['explorer.fundedBy'].example.input.address ?? ''
    const { body } = await site.call('explorer.fundedBy', { address: candidate })
    const isKnown = (body as { status?: unknown } | undefined)?.status === '1'
    return site.samples.address !== undefined || isKnown ? candidate : undefined
  })
  if (address === undefined) throw new Skipped('no funded address is known; name one with --address')
  return address
}

export const pairOf = (site: ServerUnderTest): { readonly from: string; readonly to: string } =>
  site.samples.pair ?? { from: 'USDC', to: 'EURC' }
