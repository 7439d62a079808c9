// What the explorer pages of the console show about labels, entities and transactions. Visitors use these pages too, so the calls
// need an API key instead of a session. Permissions and limits are those of explorer.labelSearch.

import { extensions } from '#api/contract/extensions.ts'
import { Fault, invalid } from '#core/fault.ts'
import { toFundingRecord } from '#explorer/endpoints/funded-by.ts'
import {
  findFundingsOfTx,
  findFundingsPaidBy,
  hasReverseIndexes,
} from '#explorer/extensions/reverse-lookups/reverse-lookups.ts'
import { findLabel, toLabel } from '#explorer/extensions/trail/follow-trail.ts'
import { getChainCoverage, isHeadConfirmed, toConfidence } from '#explorer/funding/chain-coverage.ts'
import { type Funding, findFunding } from '#explorer/funding/fundings.ts'
import { findUnfinalizedFunding, findUnfinalizedFundingsOfTx } from '#explorer/funding/index/unfinalized.ts'
import { findLabels, type Label } from '#explorer/labels/labels.ts'
import { countTaggedAddresses, type Tag, tagsOfEntity } from '#explorer/labels/tags.ts'
import type { Authorizer } from '#http/authorize.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import { jsonResponse } from '#http/render.ts'
import type { ExtraRoute } from '#http/routes.ts'
import type { AppContext } from '#server/context.ts'
import type { EntityView, LabelCounts, StoredFunding, StoredLabel, TransactionView } from '#shared/console-calls.ts'

/** Labels per chain, and thus lookups of what an address funded. */
const labelsMax = 50
const fundedMax = 25
const fundingsMax = 200
/** Counting more would delay other requests. */
const countMax = 100_000

export function explorerRoutes(
  { settings }: Pick<AppContext, 'settings'>,
  authorizer: Pick<Authorizer, 'authorize'>,
): readonly ExtraRoute<AppContext>[] {
  if (!settings.groups.explorer.enabled) return []
  const route = (
    path: string,
    find: (context: AppContext, params: ApiRequest['params']) => Promise<object>,
  ): ExtraRoute<AppContext> => ({
    path,
    sameOrigin: true,
    read: async (request, context) => {
      await authorizer.authorize({ endpoint: extensions['explorer.labelSearch'] }, request)
      return jsonResponse(await find(context, request.params))
    },
  })
  return [
    route('/console/explorer/entities/{slug}', (context, { slug = '' }) => findEntity(context, slug)),
    route('/console/explorer/labels/{chain}', (context, { chain = '' }) => countLabels(context, chain)),
    route('/console/explorer/transactions/{hash}', (context, { hash = '' }) =>
      findTransaction(context, hash.toLowerCase()),
    ),
  ]
}

async function findEntity(context: AppContext, slug: string): Promise<EntityView> {
  const labels = await findLabels(context.ingest, slug)
  if (labels.length === 0) throw new Fault('record.not_found')
  const chains: EntityView['chains'][number][] = []
  const addresses: EntityView['addresses'][number][] = []
  const fundings: Funding[] = []
  const hasLookups = await hasReverseIndexes(context.ingest)
  let hasMoreAddresses = false
  for (const label of labels) {
    chains.push({ ...toChainView(label), coverage: await readCoverage(context, label.chain) })
    const tags = await tagsOfEntity(context.ingest, slug, label.chain, labelsMax + 1)
    hasMoreAddresses ||= tags.length > labelsMax
    for (const [address, tagsOfAddress] of Map.groupBy(tags.slice(0, labelsMax), (tag) => tag.address)) {
      addresses.push({ chainid: label.chain, address, labels: tagsOfAddress.sort(byConfidence).map(toStoredLabel) })
      if (hasLookups) fundings.push(...(await findFundingsPaidBy(context.ingest, label.chain, address, fundedMax + 1)))
    }
  }
  const newest = fundings.sort((a, b) => b.timeUnix - a.timeUnix || (a.address < b.address ? -1 : 1))
  return {
    slug,
    chains,
    addresses,
    hasMoreAddresses,
    funded: hasLookups
      ? await Promise.all(newest.slice(0, fundedMax).map((funding) => toStoredFunding(context, funding)))
      : null,
    hasMoreFunded: newest.length > fundedMax,
  }
}

async function countLabels({ ingest }: AppContext, chain: string): Promise<LabelCounts> {
  const addresses = await countTaggedAddresses(ingest, chain, countMax + 1)
  return { chainid: chain, addresses: Math.min(addresses, countMax), hasMoreAddresses: addresses > countMax }
}

const toChainView = ({ chain, name, description, notes, updatedUnix }: Label) => ({
  chainid: chain,
  name,
  description,
  notes,
  updatedAt: toIsoTime(updatedUnix),
})

const byConfidence = (a: Tag, b: Tag): number => b.confidence - a.confidence

const toStoredLabel = (tag: Tag): StoredLabel => ({ ...toLabel(tag), updatedAt: toIsoTime(tag.updatedUnix) })

const toIsoTime = (unix: number): string => new Date(unix * 1000).toISOString()

async function readCoverage(context: AppContext, chain: string): Promise<string | null> {
  if (!context.settings.explorer.chains.some(({ id }) => id === chain)) return null
  const coverage = await getChainCoverage(context, chain)
  return toConfidence(coverage, isHeadConfirmed(context, coverage)).coverage ?? 'none'
}

async function findTransaction(context: AppContext, hash: string): Promise<TransactionView> {
  if (!/^0x[0-9a-f]{64}$/.test(hash)) throw invalid(['path', 'hash'], 'must be 0x and 64 hexadecimal digits')
  const { ingest } = context
  // Read the unfinalized rows first: a block may become final between the two reads.
  const unfinalized = await findUnfinalizedFundingsOfTx(ingest, hash, fundingsMax)
  const finalized = (await hasReverseIndexes(ingest)) ? await findFundingsOfTx(ingest, hash, fundingsMax + 1) : []
  const views = finalized.slice(0, fundingsMax).map((funding) => toStoredFunding(context, funding))
  for (const funding of unfinalized)
    if (await isFirst(context, funding)) views.push(toStoredFunding(context, funding, 'head'))
  if (views.length === 0) throw new Fault('record.not_found')
  return { hash, fundings: await Promise.all(views), hasMore: finalized.length > fundingsMax }
}

/** Whether an unfinalized transfer is the first to its address. */
async function isFirst({ ingest }: AppContext, { chain, address, tx }: Funding): Promise<boolean> {
  const first = await findUnfinalizedFunding(ingest, chain, address)
  return first?.tx === tx && (await findFunding(ingest, chain, address)) === undefined
}

async function toStoredFunding(
  context: AppContext,
  funding: Funding,
  finality: StoredFunding['finality'] = 'finalized',
): Promise<StoredFunding> {
  const [label, funderLabel] = await Promise.all(
    [funding.address, funding.funder].map((address) => findLabel(context, funding.chain, address)),
  )
  return {
    chainid: funding.chain,
    address: funding.address,
    ...toFundingRecord(funding),
    ...(label && { label }),
    ...(funderLabel && { funderLabel }),
    finality,
  }
}
