// An API key is `tetrad:<id>:<secret>`. The id is public. The secret is shown once and stored only as a SHA-256 digest,
// which is enough for 256 random bits (decisions/hash-keys-with-one-sha-256.md).
import { hash, timingSafeEqual } from 'node:crypto'

export const keyIdBytes = 8
export const secretBytes = 32

const keyIdPattern = /^[A-Za-z0-9_-]{1,64}$/
/** The secret is base64url of 32 bytes. */
const keyPattern = /^tetrad:([A-Za-z0-9_-]{1,64}):([A-Za-z0-9_-]{43})$/
const keyCharsMax = 'tetrad:'.length + 64 + 1 + 43

export interface KeyParts {
  readonly id: string
  readonly secret: string
}

export const isKeyId = (text: string): boolean => keyIdPattern.test(text)

/** Hexadecimal, so that an id never starts with a dash, which command lines would take for an option. */
export const toKeyId = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

export const toSecret = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')

export const keyText = ({ id, secret }: KeyParts): string => `tetrad:${id}:${secret}`

/** Undefined if the text does not have the form of a key. */
export function splitKey(text: string): KeyParts | undefined {
  if (text.length > keyCharsMax) return undefined
  const [, id, secret] = keyPattern.exec(text) ?? []
  return id === undefined || secret === undefined ? undefined : { id, secret }
}

/** Over the whole key, so that a digest is only valid for its id. */
export const digestOf = (key: KeyParts): Uint8Array => hash('sha256', keyText(key), 'buffer')

/** Compared for unknown ids, so that they take the same time. No key has it (behaviour/http.md#invalid-keys). */
export const unknownKeyDigest: Uint8Array = new Uint8Array(32)

/** In constant time. */
export const sameDigest = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b)

const keyInText = /(tetrad:[A-Za-z0-9_-]+:)[A-Za-z0-9_%-]+/gi
/** The characters of a key in a URL, where any of them may be percent-encoded. */
const urlRun = /[A-Za-z0-9_%:-]+/g
const urlCode = /%([0-9a-f]{2})/gi
/** Repeated percent-encoding is decoded up to this depth. */
const decodesMax = 8

const otherSecretInText = /whsec_[A-Za-z0-9+/=]+|link_[A-Za-z0-9_-]{22}/g

/** Replaces the secrets of all keys, webhooks and sign-in links in a text, for logs and responses. */
export function withoutKeys(given: string): string {
  const text = given.replace(otherSecretInText, (secret) => `${secret.slice(0, secret.indexOf('_'))}_…`)
  const decoded = text.includes('%') ? text.replace(urlRun, withoutHiddenKeys) : text
  return /tetrad/i.test(decoded) ? decoded.replace(keyInText, '$1…') : decoded
}

/** If the decoded text contains a key, only its public part is kept. */
function withoutHiddenKeys(run: string): string {
  let plain = run
  for (let round = 0; round < decodesMax && plain.includes('%'); round++) plain = plain.replace(urlCode, toCharacter)
  return plain === run ? run : (plain.match(keyInText)?.join(' ') ?? run)
}

const toCharacter = (_: string, code: string): string => String.fromCharCode(Number.parseInt(code, 16))
