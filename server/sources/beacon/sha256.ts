// SHA-256 of 64-byte inputs (SSZ Merkle trees) and of inputs that fit into one block (shuffling). For inputs this small,
// the call overhead of node:crypto dominates: plain JavaScript without allocations takes less than half the time.

const rounds = 64
/**
 * The first 32 bits of the fractional parts of the cube roots (rounds) and square roots (initial state) of the primes.
 */
const constants = new Int32Array(rounds)
const initial = new Int32Array(8)
for (let candidate = 2, count = 0; count < rounds; candidate++) {
  let isPrime = true
  for (let by = 2; by * by <= candidate; by++) if (candidate % by === 0) isPrime = false
  if (!isPrime) continue
  constants[count] = fraction(Math.cbrt(candidate))
  if (count < 8) initial[count] = fraction(Math.sqrt(candidate))
  count += 1
}

function fraction(root: number): number {
  return Math.floor((root - Math.floor(root)) * 2 ** 32) | 0
}

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
