// What may stand in the registry, whoever brings it: a command line, a CSV file or a JSON file. A record is read as a
// whole; what is wrong with it is said in words that fit into a file of rejects.
import { hasWrongChecksum } from '#core/checksum-address.ts'
import type { LabelPatch } from './labels.ts'
import type { TagPatch } from './tags.ts'

/** A record as it arrives: texts from a CSV file, any JSON value from elsewhere. */
export type RawRecord = Readonly<Record<string, unknown>>

export interface RecordDefaults {
  /** Where a record names no chain. */
  readonly chains?: readonly string[]
  /** Where a tagged address names no source. */
  readonly source: string
  /** Where it does not say how sure it is; kept only by tags that are new. */
  readonly confidence?: number
}

/** The patches of a record, one per chain; or why it cannot be taken. */
export type PatchResult<Patch> = readonly Patch[] | { readonly reason: string }

const entityNames: Readonly<Record<string, string>> = {
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
}
const chainNames: Readonly<Record<string, string>> = {
  chain: 'chain',
  chains: 'chain',
  chainid: 'chain',
  chain_id: 'chain',
}

const chainText = /^[1-9]\d{0,18}$/
const addressText = /^0x[0-9a-f]{40}$/
const slugText = /^[a-z0-9][a-z0-9._~-]{0,127}$/
const sourceText = /^[\x21-\x7e]{1,100}$/
const integerText = /^\d{1,12}$/
const chainsMax = 256
const evidenceCharsMax = 2000

class InvalidRecord extends Error {}

/** Whether a record speaks of an address or of an entity. */
export const isTag = (record: RawRecord): boolean =>
  Object.keys(record).some((name) => name.toLowerCase() === 'address')

/** Column and member names that a record of this kind does not have. */
export function findUnknownFields(names: readonly string[], tag: boolean): string[] {
  const known = { ...(tag ? tagNames : entityNames), ...chainNames }
  return names.filter((name) => !Object.hasOwn(known, name.toLowerCase()))
}

export const toEntityPatches = (record: RawRecord, defaults: RecordDefaults): PatchResult<LabelPatch> =>
  catchInvalidRecord(() => {
    const fields = normalizeFields(record, false)
    const name = readText(fields, 'name', 200)
    const slug = readText(fields, 'slug', 128) || toSlug(name ?? '')
    if (slug === '')
      throw new InvalidRecord(name ? 'no slug can be made of the name; give one' : 'name or slug is needed')
    if (!slugText.test(slug) || addressText.test(slug)) {
      throw new InvalidRecord('slug must be lower-case letters, digits and . _ ~ -, 1 to 128 of them, and no address')
    }
    const description = readText(fields, 'description', 2000)
    const notes = readText(fields, 'notes', 10_000)
    const updatedUnix = readInteger(fields, 'updated', 253_402_300_799)
    return readChains(fields, defaults).map((chain) => ({
      chain,
      slug,
      ...(name && { name }),
      ...(description !== undefined && { description }),
      ...(notes !== undefined && { notes }),
      ...(updatedUnix !== undefined && { updatedUnix }),
    }))
  })

export const toTagPatches = (record: RawRecord, defaults: RecordDefaults): PatchResult<TagPatch> =>
  catchInvalidRecord(() => {
    const fields = normalizeFields(record, true)
    const addressInput = readText(fields, 'address', 100) ?? ''
    const problem = validateAddress(addressInput)
    if (problem !== undefined) throw new InvalidRecord(problem)
    const address = addressInput.toLowerCase()
    const name = readText(fields, 'name', 200)
    if (!name) throw new InvalidRecord('name is needed')
    const entity = readText(fields, 'entity', 128)
    if (entity && !slugText.test(entity)) throw new InvalidRecord('entity must be the slug of an entity')
    const source = readText(fields, 'source', 100) || defaults.source
    if (!sourceText.test(source)) throw new InvalidRecord('source must be 1 to 100 visible characters without spaces')
    const confidence = readInteger(fields, 'confidence', 100) ?? defaults.confidence
    const evidenceUrl = readText(fields, 'evidence', evidenceCharsMax)
    if (evidenceUrl && !isUrl(evidenceUrl))
      throw new InvalidRecord('evidence must be a link that begins with http:// or https://')
    const updatedUnix = readInteger(fields, 'updated', 253_402_300_799)
    return readChains(fields, defaults).map((chain) => ({
      chain,
      address,
      source,
      name,
      ...(entity !== undefined && { entity }),
      ...(confidence !== undefined && { confidence }),
      ...(evidenceUrl !== undefined && { evidenceUrl }),
      ...(updatedUnix !== undefined && { updatedUnix }),
    }))
  })

/** The lower-case identifier form of a name. */
export const toSlug = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 128)

export const isAddress = (text: string): boolean => addressText.test(text.toLowerCase())

/** What is wrong with an address that somebody wrote; letters all of one case carry no checksum (behaviour/fx.md#address-checksums). */
export function validateAddress(text: string): string | undefined {
  if (!isAddress(text)) return 'address must be 0x and 40 hexadecimal digits'
  return hasWrongChecksum(text)
    ? 'address must have the right checksum (EIP-55): a letter is wrong, or its case'
    : undefined
}

export const isUrl = (text: string): boolean => /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text)

function catchInvalidRecord<Patch>(read: () => Patch[]): PatchResult<Patch> {
  try {
    return read()
  } catch (error) {
    if (error instanceof InvalidRecord) return { reason: error.message }
    throw error
  }
}

function normalizeFields(record: RawRecord, tag: boolean): RawRecord {
  const [unknownField] = findUnknownFields(Object.keys(record), tag)
  if (unknownField !== undefined) throw new InvalidRecord(`${unknownField} is not a known name`)
  const known = { ...(tag ? tagNames : entityNames), ...chainNames }
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [known[name.toLowerCase()], value]))
}

function readText(fields: RawRecord, name: string, charsMax: number): string | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw new InvalidRecord(`${name} must be a text`)
  if (value.length > charsMax) throw new InvalidRecord(`${name} must have at most ${charsMax} characters`)
  const prose = name === 'notes' || name === 'description'
  // A store may not give these back as they were, and then the same file would never be "unchanged".
  if (!value.isWellFormed() || (prose ? controlsInProse : controls).test(value)) {
    throw new InvalidRecord(`${name} holds characters that cannot be kept`)
  }
  return prose ? value : value.trim()
}

const controls = /\p{Cc}/u
/** Line breaks and tabs are part of a text. */
const controlsInProse = /(?![\t\n\r])\p{Cc}/u

function readInteger(fields: RawRecord, name: string, max: number): number | undefined {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return undefined
  const number = typeof value === 'string' && integerText.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > max) {
    throw new InvalidRecord(`${name} must be a whole number from 0 to ${max}`)
  }
  return number
}

function readChains(fields: RawRecord, defaults: RecordDefaults): string[] {
  const given = [fields.chain ?? []].flat().flatMap((one) => String(one).split(/[\s,;]+/))
  const named = given.filter((one) => one !== '')
  const chains = [...new Set(named.length > 0 ? named : (defaults.chains ?? []))]
  if (chains.length === 0) throw new InvalidRecord('chain is needed')
  const invalidChain = chains.find((chain) => !chainText.test(chain))
  if (invalidChain !== undefined)
    throw new InvalidRecord(`chain must be a chain id such as 1, not ${invalidChain.slice(0, 40)}`)
  if (chains.length > chainsMax) throw new InvalidRecord(`at most ${chainsMax} chains can be named`)
  return chains
}
