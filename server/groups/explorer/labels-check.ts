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
export type Read<Patch> = readonly Patch[] | { readonly reason: string }

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
const wholeText = /^\d{1,12}$/
const chainsMax = 256
const evidenceCharsMax = 2000

class Bad extends Error {}

/** Whether a record speaks of an address or of an entity. */
export const isTag = (record: RawRecord): boolean =>
  Object.keys(record).some((name) => name.toLowerCase() === 'address')

/** Column and member names that a record of this kind does not have. */
export function strangeNames(names: readonly string[], tag: boolean): string[] {
  const known = { ...(tag ? tagNames : entityNames), ...chainNames }
  return names.filter((name) => !Object.hasOwn(known, name.toLowerCase()))
}

export const entityPatches = (record: RawRecord, defaults: RecordDefaults): Read<LabelPatch> =>
  reading(() => {
    const fields = fieldsOf(record, false)
    const name = text(fields, 'name', 200)
    const slug = text(fields, 'slug', 128) || slugOf(name ?? '')
    if (slug === '') throw new Bad(name ? 'no slug can be made of the name; give one' : 'name or slug is needed')
    if (!slugText.test(slug) || addressText.test(slug)) {
      throw new Bad('slug must be lower-case letters, digits and . _ ~ -, 1 to 128 of them, and no address')
    }
    const description = text(fields, 'description', 2000)
    const notes = text(fields, 'notes', 10_000)
    const updatedUnix = whole(fields, 'updated', 253_402_300_799)
    return chainsOf(fields, defaults).map((chain) => ({
      chain,
      slug,
      ...(name && { name }),
      ...(description !== undefined && { description }),
      ...(notes !== undefined && { notes }),
      ...(updatedUnix !== undefined && { updatedUnix }),
    }))
  })

export const tagPatches = (record: RawRecord, defaults: RecordDefaults): Read<TagPatch> =>
  reading(() => {
    const fields = fieldsOf(record, true)
    const written = text(fields, 'address', 100) ?? ''
    const wrong = wrongAddress(written)
    if (wrong !== undefined) throw new Bad(wrong)
    const address = written.toLowerCase()
    const name = text(fields, 'name', 200)
    if (!name) throw new Bad('name is needed')
    const entity = text(fields, 'entity', 128)
    if (entity && !slugText.test(entity)) throw new Bad('entity must be the slug of an entity')
    const source = text(fields, 'source', 100) || defaults.source
    if (!sourceText.test(source)) throw new Bad('source must be 1 to 100 visible characters without spaces')
    const confidence = whole(fields, 'confidence', 100) ?? defaults.confidence
    const evidenceUrl = text(fields, 'evidence', evidenceCharsMax)
    if (evidenceUrl && !isLink(evidenceUrl))
      throw new Bad('evidence must be a link that begins with http:// or https://')
    const updatedUnix = whole(fields, 'updated', 253_402_300_799)
    return chainsOf(fields, defaults).map((chain) => ({
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
export const slugOf = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 128)

export const isAddress = (text: string): boolean => addressText.test(text.toLowerCase())

/** What is wrong with an address that somebody wrote; letters all of one case carry no checksum (decision 0184). */
export function wrongAddress(written: string): string | undefined {
  if (!isAddress(written)) return 'address must be 0x and 40 hexadecimal digits'
  return hasWrongChecksum(written)
    ? 'address must have the right checksum (EIP-55): a letter is wrong, or its case'
    : undefined
}

export const isLink = (text: string): boolean => /^https?:\/\/[^\s]+$/i.test(text) && URL.canParse(text)

function reading<Patch>(read: () => Patch[]): Read<Patch> {
  try {
    return read()
  } catch (error) {
    if (error instanceof Bad) return { reason: error.message }
    throw error
  }
}

function fieldsOf(record: RawRecord, tag: boolean): RawRecord {
  const [strange] = strangeNames(Object.keys(record), tag)
  if (strange !== undefined) throw new Bad(`${strange} is not a known name`)
  const known = { ...(tag ? tagNames : entityNames), ...chainNames }
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [known[name.toLowerCase()], value]))
}

function text(fields: RawRecord, name: string, charsMax: number): string | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'string') throw new Bad(`${name} must be a text`)
  if (value.length > charsMax) throw new Bad(`${name} must have at most ${charsMax} characters`)
  const prose = name === 'notes' || name === 'description'
  // A store may not give these back as they were, and then the same file would never be "unchanged".
  if (!value.isWellFormed() || (prose ? controlsInProse : controls).test(value)) {
    throw new Bad(`${name} holds characters that cannot be kept`)
  }
  return prose ? value : value.trim()
}

const controls = /\p{Cc}/u
/** Line breaks and tabs are part of a text. */
const controlsInProse = /(?![\t\n\r])\p{Cc}/u

function whole(fields: RawRecord, name: string, max: number): number | undefined {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return undefined
  const number = typeof value === 'string' && wholeText.test(value) ? Number(value) : value
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > max) {
    throw new Bad(`${name} must be a whole number from 0 to ${max}`)
  }
  return number
}

function chainsOf(fields: RawRecord, defaults: RecordDefaults): string[] {
  const given = [fields.chain ?? []].flat().flatMap((one) => String(one).split(/[\s,;]+/))
  const named = given.filter((one) => one !== '')
  const chains = [...new Set(named.length > 0 ? named : (defaults.chains ?? []))]
  if (chains.length === 0) throw new Bad('chain is needed')
  const wrong = chains.find((chain) => !chainText.test(chain))
  if (wrong !== undefined) throw new Bad(`chain must be a chain id such as 1, not ${wrong.slice(0, 40)}`)
  if (chains.length > chainsMax) throw new Bad(`at most ${chainsMax} chains can be named`)
  return chains
}
