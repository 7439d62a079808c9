// An API key is `tetrad:<id>:<secret>`. The id may be shown and logged; the secret is shown once and kept only as a digest.
// The digest is one SHA-256, on purpose: slow hashes protect words that people choose, and a secret of 256 random bits
// cannot be searched at any speed, while a slow hash would let anyone burn our processor with garbage (decision 0003).
import { hash, timingSafeEqual } from 'node:crypto'

export const keyIdBytes = 8
export const secretBytes = 32

const keyIdShape = /^[A-Za-z0-9_-]{1,64}$/
/** Base64url of 32 bytes; the bound keeps us from hashing whatever is sent. */
const secretShape = /^[A-Za-z0-9_-]{43}$/
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
  const [prefix, id = '', secret = '', ...rest] = text.split(':')
  if (prefix !== 'tetrad' || rest.length > 0 || !keyIdShape.test(id) || !secretShape.test(secret)) return undefined
  return { id, secret }
}

/** Over the whole key, so that a digest is worth nothing under another id. */
export const digestOf = (key: KeyParts): Uint8Array => hash('sha256', keyText(key), 'buffer')

/** What an unknown id is compared with: the work is the same, and nothing has this digest (decision 0007). */
export const nobodysDigest: Uint8Array = new Uint8Array(32)

/** Takes the same time wherever the two differ. */
export const sameDigest = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b)

/** The separator as people write it, or as a URL does. */
const keyInText = /(tetrad(?::|%3a)[A-Za-z0-9_-]+(?::|%3a))[A-Za-z0-9_%-]+/gi

/** Any key in a text becomes its public part: for whatever is logged or repeated to somebody. */
export const withoutKeys = (text: string): string => (/tetrad/i.test(text) ? text.replace(keyInText, '$1…') : text)
