// Extension: the label of an address (behaviour/explorer.md#label-of-an-address).
import { extensions } from '#api/contract/extensions.ts'
import type { AddressTag } from '#api/contract/wire/explorer-extensions.ts'
import { createHandler } from '#http/handler.ts'
import { readAddress, requireServedChain } from '../../chains.ts'
import type { ExplorerContext } from '../../context.ts'
import { wrapResult } from '../../envelope.ts'
import { entityTable, type Label } from '../../labels/labels.ts'
import { findTags, type Tag } from '../../labels/tags.ts'

export const addressTag = createHandler(
  extensions['explorer.addressTag'],
  async ({ chainid, address }, { ingest }: ExplorerContext) => {
    const tags = await findTags(ingest, readAddress(address), { chain: chainid })
    const [best] = tags
    if (!best) return { is: 'nothing' }
    const slugs = [...new Set(tags.map(({ entity }) => entity).filter((slug) => slug !== ''))]
    const keys = slugs.map((slug) => ({ chain: chainid, slug }))
    const known = await entityTable.read(ingest, chainid, keys)
    const owners = slugs.flatMap((slug) => known.find((label) => label.slug === slug) ?? [])
    return wrapResult([toAddressTag(best, owners)])
  },
  requireServedChain,
)

/** `owners`: the one with the highest confidence first. Members without a counterpart in the registry are empty. */
const toAddressTag = (tag: Tag, owners: readonly Label[]): AddressTag => ({
  address: tag.address,
  nametag: tag.name,
  internal_nametag: '',
  url: tag.evidenceUrl,
  shortdescription: owners[0]?.description ?? '',
  notes_1: owners[0]?.notes ?? '',
  notes_2: '',
  labels: owners.map(({ name }) => name),
  labels_slug: owners.map(({ slug }) => slug),
  reputation: 0,
  other_attributes: [],
  lastupdatedtimestamp: tag.updatedUnix,
})
