// Hash trees of SSZ: roots of chunks of 32 bytes, in trees of a fixed depth or in progressive ones.
import { hashPair } from './sha256.ts'
import { SszError } from './ssz.ts'

/** Bytes of a leaf of a tree, and of a root. */
export const chunk = 32

/** A limit without a bound: the tree grows with its content (EIP-7916). */
export const progressive = Number.POSITIVE_INFINITY

const zeroHashes: Uint8Array[] = [new Uint8Array(2 * chunk)]
for (let depth = 1; depth < 64; depth++) {
  const pair = new Uint8Array(2 * chunk)
  hashPair(zeroHashes[depth - 1] as Uint8Array, 0, pair, 0)
  pair.copyWithin(chunk, 0, chunk)
  zeroHashes.push(pair)
}

const depthOf = (chunks: number): number => Math.ceil(Math.log2(Math.max(1, chunks)))

/**
 * Root of the first `count` chunks in a tree for `limit` chunks. Overwrites `chunks`, which needs space for one more.
 */
export function merkleize(chunks: Uint8Array, count: number, limit: number, output: Uint8Array, to: number): void {
  if (limit === progressive) return void merkleizeProgressive(chunks, count, output, to)
  const depth = depthOf(limit)
  if (count === 0) return void output.set((zeroHashes[depth] as Uint8Array).subarray(0, chunk), to)
  let left = count
  for (let level = 0; level < depth; level++) {
    if (left % 2 === 1) {
      chunks.set((zeroHashes[level] as Uint8Array).subarray(0, chunk), left * chunk)
      left += 1
    }
    for (let at = 0; at < left / 2; at++) hashPair(chunks, at * 2 * chunk, chunks, at * chunk)
    left /= 2
  }
  output.set(chunks.subarray(0, chunk), to)
}

/**
 * A chain of trees with 1, 4, 16, … leaves: each root is hashed with that of the rest. Only the last tree can have fewer
 * leaves than its limit, so only that one writes behind them.
 */
function merkleizeProgressive(chunks: Uint8Array, count: number, output: Uint8Array, to: number): void {
  const roots: Uint8Array[] = []
  for (let from = 0, leaves = 1; from < count; from += leaves, leaves *= 4) {
    const root = new Uint8Array(chunk)
    merkleize(chunks.subarray(from * chunk), Math.min(leaves, count - from), leaves, root, 0)
    roots.push(root)
  }
  const pair = new Uint8Array(2 * chunk)
  for (const root of roots.reverse()) {
    pair.set(root)
    hashPair(pair, 0, pair, chunk)
  }
  output.set(pair.subarray(chunk), to)
}

/** Space for this many chunks and the extra one of `merkleize`. */
export const bufferFor = (count: number): Uint8Array => new Uint8Array((count + 1) * chunk)

export function packed(
  bytes: Uint8Array,
  from: number,
  until: number,
  limit: number,
  output: Uint8Array,
  to: number,
): void {
  const count = Math.ceil((until - from) / chunk)
  if (count > limit) throw new SszError(`${until - from} bytes do not fit into ${limit} chunks`)
  const chunks = bufferFor(count)
  chunks.set(bytes.subarray(from, until))
  merkleize(chunks, count, limit, output, to)
}

/** Hashes 32 bytes into the root at `to`. */
export function mixIn(bytes: Uint8Array, output: Uint8Array, to: number): void {
  const pair = new Uint8Array(2 * chunk)
  pair.set(output.subarray(to, to + chunk))
  pair.set(bytes, chunk)
  hashPair(pair, 0, output, to)
}

/** Hashes the length of a list into the root at `to`. */
export function mixInLength(length: number, output: Uint8Array, to: number): void {
  const bytes = new Uint8Array(chunk)
  new DataView(bytes.buffer).setUint32(0, length, true)
  mixIn(bytes, output, to)
}
