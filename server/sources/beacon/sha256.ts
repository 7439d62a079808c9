// SHA-256 of 64-byte inputs (SSZ Merkle trees) and of inputs that fit into one block (shuffling). For inputs this small,
// the call overhead of node:crypto dominates: plain JavaScript without allocations takes less than half the time.

const rounds = 64
/** FIPS 180-4, section 4.2.2. */
// biome-ignore format: a table
const constants = new Int32Array([
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
])
/** FIPS 180-4, section 5.3.3. */
// biome-ignore format: a table
const initial = new Int32Array([
  0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
])

function expand(schedule: Int32Array): void {
  for (let at = 16; at < rounds; at++) {
    const x = schedule[at - 15] as number
    const y = schedule[at - 2] as number
    const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3)
    const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10)
    schedule[at] = ((schedule[at - 16] as number) + s0 + (schedule[at - 7] as number) + s1) | 0
  }
  for (let at = 0; at < rounds; at++) schedule[at] = ((schedule[at] as number) + (constants[at] as number)) | 0
}

/** The second block is the same for every 64-byte input: the end marker and the length in bits. */
const padding = new Int32Array(rounds)
padding[0] = 0x80000000 | 0
padding[15] = 512
expand(padding)

const schedule = new Int32Array(rounds)
const state = new Int32Array(8)

/** `schedule`: the expanded words plus the round constants. */
function compress(schedule: Int32Array): void {
  let a = state[0] as number
  let b = state[1] as number
  let c = state[2] as number
  let d = state[3] as number
  let e = state[4] as number
  let f = state[5] as number
  let g = state[6] as number
  let h = state[7] as number
  for (let at = 0; at < rounds; at++) {
    const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7))
    const t1 = (h + s1 + (g ^ (e & (f ^ g))) + (schedule[at] as number)) | 0
    const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10))
    const t2 = (s0 + ((a & b) | (c & (a | b)))) | 0
    h = g
    g = f
    f = e
    e = (d + t1) | 0
    d = c
    c = b
    b = a
    a = (t1 + t2) | 0
  }
  state[0] = ((state[0] as number) + a) | 0
  state[1] = ((state[1] as number) + b) | 0
  state[2] = ((state[2] as number) + c) | 0
  state[3] = ((state[3] as number) + d) | 0
  state[4] = ((state[4] as number) + e) | 0
  state[5] = ((state[5] as number) + f) | 0
  state[6] = ((state[6] as number) + g) | 0
  state[7] = ((state[7] as number) + h) | 0
}

/** Hashes the 64 bytes of `input` at `at` and writes 32 bytes to `output` at `to`. Both may be the same array. */
export function hashPair(input: Uint8Array, at: number, output: Uint8Array, to: number): void {
  compressFirst(input, at)
  compress(padding)
  writeState(output, to)
}

/** The end marker and the length take nine of the 64 bytes of a block. */
const shortMax = 55
const block = new Uint8Array(64)

/** Hashes at most 55 bytes and writes 32 bytes to the start of `output`. */
export function hashShort(input: Uint8Array, output: Uint8Array): void {
  const { length } = input
  if (length > shortMax) throw new RangeError(`${length} bytes do not fit into one block of SHA-256`)
  block.set(input)
  block.fill(0, length)
  block[length] = 0x80
  block[62] = (length * 8) >>> 8
  block[63] = length * 8
  compressFirst(block, 0)
  writeState(output, 0)
}

function compressFirst(input: Uint8Array, at: number): void {
  for (let word = 0, from = at; word < 16; word++, from += 4) {
    schedule[word] =
      ((input[from] as number) << 24) |
      ((input[from + 1] as number) << 16) |
      ((input[from + 2] as number) << 8) |
      (input[from + 3] as number)
  }
  expand(schedule)
  state.set(initial)
  compress(schedule)
}

function writeState(output: Uint8Array, to: number): void {
  for (let word = 0, into = to; word < 8; word++, into += 4) {
    const value = state[word] as number
    output[into] = value >>> 24
    output[into + 1] = value >>> 16
    output[into + 2] = value >>> 8
    output[into + 3] = value
  }
}
