// Keccak-256 as Ethereum uses it (the padding of the original submission, so not the SHA3-256 that Node offers), and
// the letter case of addresses that is derived from it (EIP-55).
//
// The state is 25 lanes of 64 bits, each kept as two 32-bit words: bigints would be some ten times slower.

const rateBytes = 136
const rounds = 24
const mask32 = 0xffffffffn

// Rotation and target of each lane in the rho and pi steps, walked from lane 1.
const turns = [1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44]
const walk = [10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1]

// The iota constants come from an 8-bit shift register, bit 2^j - 1 for j = 0…6.
const iota = roundConstants()

export function keccak256(input: Uint8Array): Uint8Array {
  const blocks = Math.floor(input.length / rateBytes) + 1
  const padded = new Uint8Array(blocks * rateBytes)
  padded.set(input)
  padded[input.length] = 0x01
  padded[padded.length - 1] = (padded[padded.length - 1] ?? 0) | 0x80
  const view = new DataView(padded.buffer)
  const state = new Int32Array(50)
  for (let block = 0; block < blocks; block++) {
    for (let word = 0; word < rateBytes / 4; word++) {
      state[word] = at(state, word) ^ view.getInt32(block * rateBytes + word * 4, true)
    }
    permute(state)
  }
  const digest = new DataView(new ArrayBuffer(32))
  for (let word = 0; word < 8; word++) digest.setInt32(word * 4, at(state, word), true)
  return new Uint8Array(digest.buffer)
}

/** The address with letters in the case that EIP-55 asks for. */
export function checksummed(address: string): string {
  const bare = address.slice(2).toLowerCase()
  const digest = keccak256(new TextEncoder().encode(bare))
  const cased = [...bare].map((digit, place) => {
    const byte = at(digest, place >> 1)
    const nibble = place % 2 === 0 ? byte >> 4 : byte & 15
    return nibble >= 8 ? digit.toUpperCase() : digit
  })
  return `0x${cased.join('')}`
}

/**
 * Whether the case of its letters says that it was mistyped: mixed, and not as EIP-55 has it. Letters all of one case say
 * nothing about it.
 */
export function isMistyped(address: string): boolean {
  const digits = address.slice(2)
  if (digits === digits.toLowerCase() || digits === digits.toUpperCase()) return false
  return checksummed(address).slice(2) !== digits
}

function permute(state: Int32Array): void {
  const column = new Int32Array(10)
  const row = new Int32Array(10)
  for (let round = 0; round < rounds; round++) {
    theta(state, column)
    rhoPi(state)
    chi(state, row)
    state[0] = at(state, 0) ^ at(iota, round * 2)
    state[1] = at(state, 1) ^ at(iota, round * 2 + 1)
  }
}

function theta(state: Int32Array, column: Int32Array): void {
  for (let x = 0; x < 10; x++) {
    column[x] = at(state, x) ^ at(state, x + 10) ^ at(state, x + 20) ^ at(state, x + 30) ^ at(state, x + 40)
  }
  for (let x = 0; x < 5; x++) {
    const before = ((x + 4) % 5) * 2
    const after = ((x + 1) % 5) * 2
    const low = at(column, before) ^ ((at(column, after) << 1) | (at(column, after + 1) >>> 31))
    const high = at(column, before + 1) ^ ((at(column, after + 1) << 1) | (at(column, after) >>> 31))
    for (let y = 0; y < 50; y += 10) {
      state[y + x * 2] = at(state, y + x * 2) ^ low
      state[y + x * 2 + 1] = at(state, y + x * 2 + 1) ^ high
    }
  }
}

function rhoPi(state: Int32Array): void {
  let low = at(state, 2)
  let high = at(state, 3)
  for (let step = 0; step < 24; step++) {
    const lane = at(walk, step) * 2
    const turn = at(turns, step)
    const [a, b] = turn < 32 ? [low, high] : [high, low]
    const by = turn % 32
    low = at(state, lane)
    high = at(state, lane + 1)
    state[lane] = by === 0 ? a : (a << by) | (b >>> (32 - by))
    state[lane + 1] = by === 0 ? b : (b << by) | (a >>> (32 - by))
  }
}

function chi(state: Int32Array, row: Int32Array): void {
  for (let y = 0; y < 50; y += 10) {
    for (let x = 0; x < 10; x++) row[x] = at(state, y + x)
    for (let x = 0; x < 10; x++) state[y + x] = at(row, x) ^ (~at(row, (x + 2) % 10) & at(row, (x + 4) % 10))
  }
}

function roundConstants(): Int32Array {
  const words = new Int32Array(rounds * 2)
  let register = 1
  for (let round = 0; round < rounds; round++) {
    let constant = 0n
    for (let j = 0; j < 7; j++) {
      if (register & 1) constant |= 1n << BigInt(2 ** j - 1)
      register = register & 0x80 ? ((register << 1) ^ 0x171) & 0xff : register << 1
    }
    words[round * 2] = Number(constant & mask32) | 0
    words[round * 2 + 1] = Number(constant >> 32n) | 0
  }
  return words
}

/** Indices here are fixed by the algorithm and always inside. */
const at = (words: ArrayLike<number>, index: number): number => words[index] as number
