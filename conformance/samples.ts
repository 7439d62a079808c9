// Sample data for the checks: given by the caller, otherwise found: the examples of the contract, and the first
// validators that the server knows.
import { contract } from '#api/contract/contract.ts'
import { Skipped } from './check.ts'
import type { ServerUnderTest } from './server-under-test.ts'

/** Requested at once. If the server refuses so many, `indicesTried` are requested one by one. */
const indicesMax = 10_000
const indicesTried = [12, 34, 0, 1, 2, 3, 10, 100, 1000, 10_000, 100_000, 500_000, 1_000_000]
const indicesWanted = 3

/** Searches once per run. */
function findOnce<T>(server: ServerUnderTest, name: string, find: () => Promise<T>): Promise<T> {
  return server.foundSamples.getOrInsertComputed(name, find) as Promise<T>
}

/** The lowest indices that have duties in the newest window. */
async function activeValidators(server: ServerUnderTest): Promise<readonly number[]> {
  const indices = Array.from({ length: indicesMax }, (_, index) => index)
  const { body } = await server.call('validators.aggregateEffectiveness', { indices, size: indicesWanted })
  const data = (body as { data?: unknown } | undefined)?.data
  if (!Array.isArray(data)) return []
  const indicesFound = data.map((record: { validatorIndex?: unknown }) => record?.validatorIndex)
  return [...new Set(indicesFound.filter((index) => typeof index === 'number'))]
}

/** At least one index that the server knows. */
export async function validatorsOf(server: ServerUnderTest): Promise<readonly [number, ...number[]]> {
  const indices = await findOnce(server, 'validators', async () => {
    if (server.samples.validators) return server.samples.validators
    const active = await activeValidators(server)
    if (active.length > 0) return active
    const known: number[] = []
    for (const index of indicesTried) {
      const { status } = await server.call('validators.metadata', { validator_index_or_pubkey: index })
      if (status === 200 && known.length < indicesWanted) known.push(index)
    }
    return known
  })
  if (indices.length === 0) throw new Skipped('no known validator; pass some with --validators')
  return indices as unknown as readonly [number, ...number[]]
}

/** The input that selects the first of them. */
export const validatorOf = async (server: ServerUnderTest) => ({
  validator_index_or_pubkey: (await validatorsOf(server))[0],
})

export async function slugOf(server: ServerUnderTest): Promise<string> {
  const slug = await findOnce(server, 'slug', async () => {
    const candidate = server.samples.slug ?? contract['markets.bySlug'].example.input.slug ?? ''
    const { status } = await server.call('markets.bySlug', { slug: candidate })
    return server.samples.slug !== undefined || status === 200 ? candidate : undefined
  })
  if (slug === undefined) throw new Skipped('no known market; pass one with --slug')
  return slug
}

export async function findAddress(server: ServerUnderTest): Promise<string> {
  const address = await findOnce(server, 'address', async () => {
    const candidate = server.samples.address ?? contract['explorer.fundedBy'].example.input.address ?? ''
    const { body } = await server.call('explorer.fundedBy', { address: candidate })
    const isKnown = (body as { status?: unknown } | undefined)?.status === '1'
    return server.samples.address !== undefined || isKnown ? candidate : undefined
  })
  if (address === undefined) throw new Skipped('no known funded address; pass one with --address')
  return address
}

export const pairOf = (server: ServerUnderTest): { readonly from: string; readonly to: string } =>
  server.samples.pair ?? { from: 'USDC', to: 'EURC' }
