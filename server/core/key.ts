// An API key is `tetrad:<id>:<secret>`. The id may be shown and logged; the secret is shown once and kept only as a digest.
// The digest is one SHA-256, on purpose: slow hashes protect words that people choose, and a secret of 256 random bits
// cannot be searched at any speed, while a slow hash would let anyone burn our processor with garbage (decisions/hash-keys-with-one-sha-256.md).
import { hash, timingSafeEqual } from 'node:crypto'

export const keyIdBytes = 8
export const secretBytes = 32

const keyIdShape = /^[A-Za-z0-9_-]{1,64}$/
/** The secret is base64url of 32 bytes; the bounds keep us from hashing whatever is sent. */
const keyShape = /^tetrad:([A-Za-z0-9_-]{1,64}):([A-Za-z0-9_-]{43})$/
/** Prefix, longest id, secret and the colons between them. */
const keyCharsMax = 'tetrad:'.length + 64 + 1 + 43

export interface KeyParts {
  readonly id: string
  readonly secret: string
}

export const isKeyId = (text: string): boolean => keyIdShape.test(text)

/** Hexadecimal, so that an id never begins with a dash and is safe on a command line. */
export const toKeyId = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export const toSecret = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

export const keyText = ({ id, secret }: KeyParts): string => `tetrad:${id}:${secret}`

/** Undefined for whatever has not the form of a key. */
export function splitKey(text: string): KeyParts | undefined {
  if (text.length > keyCharsMax) return undefined
  const [, id, secret] = keyShape.exec(text) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

/** Over the whole key, so that a digest is worth nothing under another id. */
export const digestOf = (key: KeyParts): Uint8Array => hash('sha256', keyText(key), 'buffer')

/** What an unknown id is compared with: the work is the same, and nothing has this digest (behaviour/http.md#invalid-keys). */
export const unknownKeyDigest: Uint8Array = new Uint8Array(32)

/** Takes the same time wherever the two differ. */
export const sameDigest = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b)

const keyInText = /(tetrad:[A-Za-z0-9_-]+:)[A-Za-z0-9_%-]+/gi
/** What a key is written with where any character may stand as its code: in a URL. */
const urlRun = /[A-Za-z0-9_%:-]+/g
const urlCode = /%([0-9a-f]{2})/gi
/** Codes of codes deeper than this are nobody's mistake. */
const decodesMax = 8

/** Any key in a text becomes its public part: for whatever is logged or repeated to somebody. */
export function withoutKeys(text: string): string {
  const decoded = text.includes('%') ? text.replace(urlRun, withoutHiddenKeys) : text
  return /tetrad/i.test(decoded) ? decoded.replace(keyInText, '$1…') : decoded
}

/** A run with a key behind its codes keeps the public part of that alone: what they stand for may not fit where they stood. */
function withoutHiddenKeys(run: string): string {
  let plain = run
  for (let round = 0; round < decodesMax && plain.includes('%'); round++) plain = plain.replace(urlCode, toCharacter)
  return plain === run ? run : (plain.match(keyInText)?.join(' ') ?? run)
}

const toCharacter = (_: string, code: string): string => String.fromCharCode(Number.parseInt(code, 16))
