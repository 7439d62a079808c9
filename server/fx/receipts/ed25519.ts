// Ed25519 signatures with raw 32-byte keys, using node:crypto. The seed is the private key.
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

export const seedBytes = 32

/** DER prefixes of the raw keys (RFC 8410). */
const privateHead = Uint8Array.fromHex('302e020100300506032b657004220420')
const publicHead = Uint8Array.fromHex('302a300506032b6570032100')

export const privateKeyOf = (seed: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([privateHead, seed]), format: 'der', type: 'pkcs8' })

export const publicBytesOf = (key: KeyObject): Uint8Array =>
  new Uint8Array(createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(publicHead.length))

/** Asynchronous, because a signature takes about 0.1 ms. */
export const signEd25519 = (key: KeyObject, message: Uint8Array): Promise<Uint8Array> =>
  new Promise((resolve, reject) => {
    sign(null, message, key, (error, signature) => (error ? reject(error) : resolve(new Uint8Array(signature))))
  })

export function isSignedBy(publicBytes: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicBytes.length !== 32 || signature.length !== 64) return false
  const key = createPublicKey({ key: Buffer.concat([publicHead, publicBytes]), format: 'der', type: 'spki' })
  return verify(null, message, key, signature)
}

/** A short id for a public key. */
export const fingerprintOf = (publicBytes: Uint8Array): string =>
  createHash('sha256').update(publicBytes).digest('hex').slice(0, 16)
