// Random numbers from a seed: the same seed gives the same sequence on every machine. The generator is sfc32.

export interface SeededRandom {
  /** In [0, 1). */
  next(): number
  /** An integer in [from, until). */
  whole(from: number, until: number): number
  /** True with this probability. */
  happens(probability: number): boolean
  pick<T>(from: readonly T[]): T
  shuffled<T>(items: readonly T[]): T[]
  /** Lower-case hexadecimal digits. */
  hex(digits: number): string
  /** An independent sequence, so that draws of one part never affect another. */
  fork(name: string): SeededRandom
}

const hexDigits = '0123456789abcdef'

export function createSeededRandom(seed: string): SeededRandom {
  let [a, b, c, d] = scramble(seed)
  const next = () => {
    const t = (a + b + d) | 0
    d = (d + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + t) | 0
    return (t >>> 0) / 2 ** 32
  }
  for (let warm = 0; warm < 15; warm++) next()
  return {
    next,
    whole: (from, until) => from + Math.floor(next() * (until - from)),
    happens: (probability) => next() < probability,
    pick: (from) => {
      const chosen = from[Math.floor(next() * from.length)]
      if (chosen === undefined) throw new Error('nothing to pick from')
      return chosen
    },
    shuffled: (items) =>
      items
        .map((item) => ({ item, at: next() }))
        .sort((a, b) => a.at - b.at)
        .map(({ item }) => item),
    hex: (digits) => {
      let text = ''
      while (text.length < digits) text += hexDigits[Math.floor(next() * 16)]
      return text
    },
    fork: (name) => createSeededRandom(`${seed}/${name}`),
  }
}

/** Four 32-bit words from a text (FNV-1a, four times with different starts). */
function scramble(seed: string): [number, number, number, number] {
  const word = (start: number) => {
    let hash = start
    for (let at = 0; at < seed.length; at++) hash = Math.imul(hash ^ seed.charCodeAt(at), 16777619)
    return hash | 0
  }
  return [word(2166136261), word(84696351), word(3339675911), word(2862933555)]
}
