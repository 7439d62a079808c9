// Who signed a digest: recovery of a signer from an ECDSA signature over secp256k1, as Ethereum's ecrecover does it.
// Everything here is public (digest, signature, address), so nothing needs to run in constant time; it must only be right,
// and tests hold it against two libraries. It never signs.
//
// The public key is r⁻¹(s·R − z·G). The part without the digest is worked out once, so that one signature can be held
// against many digests for the price of one multiplication of G each.
import { keccak256 } from './keccak.ts'

const p = 2n ** 256n - 2n ** 32n - 977n
const n = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const gx = 0x79be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798n
const gy = 0x483ada7726a3c4655da4fbfc0e1108a8fd17b448a68554199c47d08ffb10d4b8n

export interface Signature {
  readonly r: bigint
  readonly s: bigint
  /** Whether the y of the signature's point is odd: v is 28 then, otherwise 27. */
  readonly odd: boolean
}

/** Jacobian coordinates: x = X/Z², y = Y/Z³; Z is 0 at infinity. */
type Point = readonly [bigint, bigint, bigint]
const infinity: Point = [1n, 1n, 0n]

const mod = (value: bigint): bigint => {
  const rest = value % p
  return rest < 0n ? rest + p : rest
}

/** For a signature: digest → lower-case address, undefined where there is no such key. Undefined for no signature at all. */
export function recoverer({ r, s, odd }: Signature): ((digest: Uint8Array) => string | undefined) | undefined {
  if (r <= 0n || r >= n || s <= 0n || s >= n) return undefined
  const square = mod(r * r * r + 7n)
  const root = power(square, (p + 1n) >> 2n)
  if (mod(root * root) !== square) return undefined
  const y = (root & 1n) === (odd ? 1n : 0n) ? root : p - root
  const inverse = invert(r, n)
  const fixed = multiply([r, y, 1n], (s * inverse) % n)
  return (digest) => {
    const z = BigInt(`0x${digest.toHex()}`) % n
    return addressOf(add(fixed, multiplyG((n - ((z * inverse) % n)) % n)))
  }
}

function addressOf([x, y, z]: Point): string | undefined {
  if (z === 0n) return undefined
  const inverse = invert(z, p)
  const square = mod(inverse * inverse)
  const hex = (value: bigint) => value.toString(16).padStart(64, '0')
  const key = `${hex(mod(x * square))}${hex(mod(mod(y * square) * inverse))}`
  return `0x${keccak256(Uint8Array.fromHex(key)).subarray(12).toHex()}`
}

function double([x, y, z]: Point): Point {
  if (z === 0n) return infinity
  const a = mod(y * y)
  const b = mod(4n * x * a)
  const c = 3n * x * x
  const x3 = mod(c * c - 2n * b)
  return [x3, mod(c * (b - x3) - 8n * a * a), mod(2n * y * z)]
}

function add(one: Point, other: Point): Point {
  const [x1, y1, z1] = one
  const [x2, y2, z2] = other
  if (z1 === 0n) return other
  if (z2 === 0n) return one
  const [z1z1, z2z2] = [mod(z1 * z1), mod(z2 * z2)]
  const [u1, u2] = [mod(x1 * z2z2), mod(x2 * z1z1)]
  const [s1, s2] = [mod(y1 * z2 * z2z2), mod(y2 * z1 * z1z1)]
  if (u1 === u2) return s1 === s2 ? double(one) : infinity
  const h = u2 - u1
  const r = s2 - s1
  const hh = mod(h * h)
  const hhh = mod(h * hh)
  const v = mod(u1 * hh)
  const x3 = mod(r * r - hhh - 2n * v)
  return [x3, mod(r * (v - x3) - s1 * hhh), mod(z1 * z2 * h)]
}

function multiply(point: Point, scalar: bigint): Point {
  let sum = infinity
  for (const bit of scalar.toString(2)) {
    sum = double(sum)
    if (bit === '1') sum = add(sum, point)
  }
  return sum
}

/** 16 multiples of G for each of the 64 hexadecimal digits of a scalar; made at first use. */
let table: readonly (readonly Point[])[] | undefined

function multiplyG(scalar: bigint): Point {
  table ??= tableOfG()
  let sum = infinity
  const digits = scalar.toString(16).padStart(64, '0')
  for (let place = 0; place < 64; place++) {
    const digit = Number.parseInt(digits[63 - place] ?? '0', 16)
    sum = add(sum, table[place]?.[digit] ?? infinity)
  }
  return sum
}

function tableOfG(): readonly (readonly Point[])[] {
  let base: Point = [gx, gy, 1n]
  return Array.from({ length: 64 }, () => {
    const row: Point[] = [infinity]
    for (let digit = 1; digit < 16; digit++) row.push(add(row[digit - 1] ?? infinity, base))
    for (let doublings = 0; doublings < 4; doublings++) base = double(base)
    return row
  })
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  for (const bit of exponent.toString(2)) {
    result = mod(result * result)
    if (bit === '1') result = mod(result * base)
  }
  return result
}

function invert(value: bigint, modulus: bigint): bigint {
  let [a, b] = [((value % modulus) + modulus) % modulus, modulus]
  let [x, y] = [1n, 0n]
  while (a > 1n) {
    const quotient = b / a
    ;[a, b] = [b % a, a]
    ;[x, y] = [y - quotient * x, x]
  }
  return ((x % modulus) + modulus) % modulus
}
