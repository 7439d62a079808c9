// Validates records for the label registry, from the command line, CSV and JSON files. The reason for a rejection is a
// text for the rejects file.
import { hasWrongChecksum } from '#core/checksum-address.ts'
import { withoutAccents } from '#core/split-words.ts'
import type { LabelPatch } from './labels.ts'
import type { TagPatch } from './tags.ts'

/** Fields are texts in a CSV file, and any JSON values elsewhere. */
export type RawRecord = Readonly<Record<string, unknown>>

export interface RecordDefaults {
  /** For records without a chain. */
  readonly chains?: readonly string[]
  /** For tagged addresses without a source. */
  readonly source: string
  /** For tagged addresses without a confidence. */
  readonly confidence?: number
}

/** The patches of a record, one per chain, or why it is rejected. */
export type PatchResult<Patch> = readonly Patch[] | { readonly reason: string }

const chainNames = { chain: 'chain', chains: 'chain', chainid: 'chain', chain_id: 'chain' }
const entityNames: Readonly<Record<string, string>> = {
  ...chainNames,
  slug: 'slug',
  labelslug: 'slug',
  name: 'name',
  labelname: 'name',
  description: 'description',
  shortdescription: 'description',
  notes: 'notes',
  updated: 'updated',
  lastupdatedtimestamp: 'updated',
}
const tagNames: Readonly<Record<string, string>> = {
  ...chainNames,
  address: 'address',
  name: 'name',
  nametag: 'name',
  entity: 'entity',
  source: 'source',
  confidence: 'confidence',
  evidence: 'evidence',
  evidenceurl: 'evidence',
  evidence_url: 'evidence',
  updated: 'updated',
  lastupdatedtimestamp: 'updated',
}

const chainText = /^[1-9]\d{0,18}$/
const addressText = /^0x[0-9a-f]{40}$/
const slugText = /^[a-z0-9][a-z0-9._~-]{0,127}$/
const sourceText = /^[\x21-\x7e]{1,100}$/
const integerText = /^\d{1,12}$/
const chainsMax = 256
const evidenceCharsMax = 2000

class RejectedRecord extends Error {}

/** A record with an address is a tagged address, otherwise an entity. */
export const isTag = (record: RawRecord): boolean =>
  Object.keys(record).some((name) => name.toLowerCase() === 'address')

export function findUnknownFields(names: readonly string[], tag: boolean): string[] {
  const known = tag ? tagNames : entityNames
  return names.filter((name) => !Object.hasOwn(known, name.toLowerCase()))
}

export const toEntityPatches = (record: RawRecord, defaults: RecordDefaults): PatchResult<LabelPatch> =>
  catchRejection(() => {
    const fields = normalizeFields(record, false)
    const name = readText(fields, 'name', 200)
    const slug = readText(fields, 'slug', 128) || toSlug(name ?? '')
    if (slug === '')
      throw new RejectedRecord(name ? 'the name has no letters for a slug; set slug' : 'name or slug is required')
    if (!slugText.test(slug) || addressText.test(slug)) {
      throw new RejectedRecord('slug must be 1 to 128 lower-case letters, digits and . _ ~ -, and not an address')
    }
    const description = readText(fields, 'description', 2000)
    const notes = readText(fields, 'notes', 10_000)
    const updatedUnix = readInteger(fields, 'updated', 253_402_300_799)
    const changes = { name: name || undefined, description, notes, updatedUnix }
    return readChains(fields, defaults).map((chain) => ({ chain, slug, ...changes }))
  })

export const toTagPatches = (record: RawRecord, defaults: RecordDefaults): PatchResult<TagPatch> =>
  catchRejection(() => {
    const fields = normalizeFields(record, true)
    const addressInput = readText(fields, 'address', 100) ?? ''
    const problem = validateAddress(addressInput)
    if (problem !== undefined) throw new RejectedRecord(problem)
    const address = addressInput.toLowerCase()
    const name = readText(fields, 'name', 200)
    if (!name) throw new RejectedRecord('name is required')
    const entity = readText(fields, 'entity', 128)
    if (entity && !slugText.test(entity)) throw new RejectedRecord('entity must be the slug of an entity')
    const source = readText(fields, 'source', 100) || defaults.source
    if (!sourceText.test(source)) throw new RejectedRecord('source must be 1 to 100 visible characters without spaces')
    const confidence = readInteger(fields, 'confidence', 100) ?? defaults.confidence
    const evidenceUrl = readText(fields, 'evidence', evidenceCharsMax)
    if (evidenceUrl && !isUrl(evidenceUrl))
      throw new RejectedRecord('evidence must be a URL that begins with http:// or https://')
    const updatedUnix = readInteger(fields, 'updated', 253_402_300_799)
    const changes = { name, entity, confidence, evidenceUrl, updatedUnix }
    return readChains(fields, defaults).map((chain) => ({ chain, address, source, ...changes }))
  })

export const toSlug = (name: string): string =>
  withoutAccents(name)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 128)

export const isAddress = (text: string): boolean => addressText.test(text.toLowerCase())

/** Why an address is invalid. An address in one letter case has no checksum (behaviour/http.md#address-checksums). */
export function validateAddress(text: string): string | undefined {
  if (!isAddress(text)) return 'address must be 0x and 40 hexadecimal digits'
  return hasWrongChecksum(text) ? 'address has a wrong EIP-55 checksum: a letter or its case is wrong' : undefined
}

export const isUrl = (text: string): boolean => /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text)

function catchRejection<Patch>(read: () => Patch[]): PatchResult<Patch> {
  try {
    return read()
  } catch (error) {
    if (error instanceof RejectedRecord) return { reason: error.message }
    throw error
  }
}

function normalizeFields(record: RawRecord, tag: boolean): RawRecord {
  const [unknownField] = findUnknownFields(Object.keys(record), tag)
  if (unknownField !== undefined) throw new RejectedRecord(`unknown field ${unknownField}`)
  const known = tag ? tagNames : entityNames
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [known[name.toLowerCase()], value]))
}

function readText(fields: RawRecord, name: string, charsMax: number): string | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw new RejectedRecord(`${name} must be text`)
  if (value.length > charsMax) throw new RejectedRecord(`${name} must have at most ${charsMax} characters`)
  const isMultiline = name === 'notes' || name === 'description'
  // A database may not return these unchanged, and then importing the file again would change the row.
  if (!value.isWellFormed() || (isMultiline ? controlsExceptLineBreaks : controls).test(value)) {
    throw new RejectedRecord(`${name} contains characters that cannot be stored`)
  }
  return isMultiline ? value : value.trim()
}

const controls = /\p{Cc}/u
/** Notes and descriptions may contain line breaks and tabs. */
const controlsExceptLineBreaks = /(?![\t\n\r])\p{Cc}/u

function readInteger(fields: RawRecord, name: string, max: number): number | undefined {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return undefined
  const number = typeof value === 'string' && integerText.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > max) {
    throw new RejectedRecord(`${name} must be an integer from 0 to ${max}`)
  }
  return number
}

function readChains(fields: RawRecord, defaults: RecordDefaults): string[] {
  const values = [fields.chain ?? []].flat().flatMap((value) => String(value).split(/[\s,;]+/))
  const named = values.filter((value) => value !== '')
  const chains = [...new Set(named.length > 0 ? named : (defaults.chains ?? []))]
  if (chains.length === 0) throw new RejectedRecord('chain is required')
  const invalidChain = chains.find((chain) => !chainText.test(chain))
  if (invalidChain !== undefined)
    throw new RejectedRecord(`chain must be a chain id such as 1, not ${invalidChain.slice(0, 40)}`)
  if (chains.length > chainsMax) throw new RejectedRecord(`at most ${chainsMax} chains are allowed`)
  return chains
}
