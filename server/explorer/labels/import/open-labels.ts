// Converts labels of the Open Labels Initiative (behaviour/explorer.md#open-labels-initiative-format). Files have a
// member per tag, one tag per record, or attestations with tags inside. All three are collected into one set of tags
// per chain, address and attester, and then converted to a tagged address.

import { isUrl, type RawRecord, toSlug, validateAddress } from '../parse-record.ts'
import type { ImportedRecord } from './read-csv.ts'

/** Names of arrays that may contain the records. */
export const oliArrays = ['labels', 'results', 'attestations', 'data'] as const

/** Members that are not tags. */
const metadataFields = new Set([
  ...['address', 'recipient', 'chain_id', 'caip10', 'attester', 'time', 'time_created', 'timecreated', 'uid', 'id'],
  ...['tag_id', 'tag_value', 'value', 'tags', 'tags_json', 'labels', 'revoked', 'is_revoked', 'count', 'schema'],
])

interface TagSet extends Pick<ImportedRecord, 'line' | 'column' | 'raw'> {
  readonly chain: string
  readonly address: string
  readonly attester: string
  readonly tags: Map<string, { readonly value: unknown; readonly time: string }>
}

export function* convertOpenLabels(
  records: Iterable<ImportedRecord>,
  defaults: { readonly source: string; readonly everyChain: readonly string[] },
): Generator<ImportedRecord> {
  const tagSets = new Map<string, TagSet>()
  for (const imported of flattenLabels(records)) {
    const reason = imported.record
      ? collectTags(tagSets, imported, imported.record, defaults.everyChain)
      : imported.reason
    if (reason !== undefined) yield { ...imported, record: undefined, reason }
  }
  for (const tagSet of tagSets.values()) yield toImportedRecord(tagSet, defaults.source)
}

/** A response about one address has its labels inside. */
function* flattenLabels(records: Iterable<ImportedRecord>): Generator<ImportedRecord> {
  for (const imported of records) {
    const inner = imported.record?.labels
    if (!imported.record || !Array.isArray(inner)) yield imported
    else for (const label of inner) yield { ...imported, record: { ...imported.record, labels: undefined, ...label } }
  }
}

/** Returns the reason if the record is rejected. */
function collectTags(
  tagSets: Map<string, TagSet>,
  { line, column, raw }: ImportedRecord,
  record: RawRecord,
  everyChain: readonly string[],
): string | undefined {
  if (record.revoked === true || record.is_revoked === true || record.revoked === 'true')
    return 'the attestation was revoked'
  const subject = parseSubject(record)
  if (typeof subject === 'string') return subject
  if (subject.chain === 'any' && everyChain.length === 0) return 'the label is for any chain, but none is configured'
  const { address } = subject
  const position = { line, raw, ...(column !== undefined && { column }) }
  const tags = readTags(record)
  if (typeof tags === 'string') return tags
  const attester = typeof record.attester === 'string' ? record.attester.toLowerCase() : ''
  const time = String(record.time ?? record.time_created ?? record.timeCreated ?? '')
  for (const chain of subject.chain === 'any' ? everyChain : [subject.chain]) {
    const key = `${chain}/${address}/${attester}`
    const tagSet = tagSets.getOrInsertComputed(key, () => ({ ...position, chain, address, attester, tags: new Map() }))
    for (const [name, value] of tags) {
      // Of two values of a tag the newer one counts; without times, the later one in the file.
      if (time >= (tagSet.tags.get(name)?.time ?? '')) tagSet.tags.set(name, { value, time })
    }
  }
  return undefined
}

/** `eip155:1` and an address, or both in one: `eip155:1:0x…`. Older files write a dash. */
function parseSubject(record: RawRecord): { chain: string; address: string } | string {
  const chainText = String(record.caip10 ?? record.chain_id ?? '')
  const [, chain, within] = /^(?:eip155[:-])?([1-9]\d{0,18}|any)(?::(0x[0-9a-f]{40}))?$/i.exec(chainText) ?? []
  if (chain === undefined) return `chain_id must be eip155: and a number, not ${chainText.slice(0, 60) || 'empty'}`
  const address = String(within ?? record.address ?? record.recipient ?? '')
  return validateAddress(address) ?? { chain: chain.toLowerCase(), address: address.toLowerCase() }
}

function readTags(record: RawRecord): (readonly [string, unknown])[] | string {
  if (record.tag_id != null) return [[withoutPrefix(String(record.tag_id)), record.tag_value ?? record.value]]
  const inside = record.tags ?? record.tags_json
  if (inside == null) {
    return Object.entries(record)
      .filter(([name, value]) => !metadataFields.has(name.toLowerCase()) && value !== '' && value !== null)
      .map(([name, value]) => [withoutPrefix(name), value] as const)
  }
  const tags = typeof inside === 'string' ? tryParseJson(inside) : inside
  if (typeof tags !== 'object' || tags === null || Array.isArray(tags)) return 'tags must be an object'
  return Object.entries(tags).map(([name, value]) => [withoutPrefix(name), value] as const)
}

/** Tags of version 1 have the prefix `oli.`. */
const withoutPrefix = (name: string): string => name.toLowerCase().replace(/^oli\./, '')

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const namingTags = ['contract_name', 'name', 'erc20.name', 'erc721.name', 'erc1155.name', 'owner_project'] as const

function toImportedRecord({ chain, address, attester, tags, ...position }: TagSet, source: string): ImportedRecord {
  const textTag = (name: string): string => {
    const value = tags.get(name)?.value
    return typeof value === 'string' ? value.trim() : ''
  }
  const name = namingTags.map(textTag).find((text) => text !== '')
  if (name === undefined) return { ...position, record: undefined, reason: 'no tag contains a name for the address' }
  const owner = toSlug(textTag('owner_project'))
  const evidence = ['_source', 'source_code_verified', 'contract_monitored'].map(textTag).find(isUrl)
  return {
    ...position,
    record: {
      chain,
      address,
      name,
      source: attester === '' ? source : `${source}:${attester}`,
      ...(owner !== '' && { entity: owner }),
      ...(evidence !== undefined && { evidence }),
    },
  }
}
