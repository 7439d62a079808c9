// How stored answers are drawn and compared: a few different ones at random, each worked out once more from what it came from.
import type { AppContext } from '#server/context.ts'
import { errorMessage } from './diagnosis.ts'

export interface VerificationResult {
  readonly checked: number
  /** Each in words: which answer, what is stored, what comes out now. */
  readonly differing: readonly string[]
  /** Likewise, where it may be the source that has changed. */
  readonly doubtful?: readonly string[]
  /** What was compared, or why there is nothing to compare. */
  readonly note?: string
  /** Why the rest of them could not be compared. */
  readonly unable?: string
}

export interface Verification {
  /** What is derived from what. */
  readonly name: string
  readonly run: (context: AppContext, sampleSize: number) => Promise<VerificationResult>
  /** What to do about a difference. */
  readonly todo: string
}

/** Why the sources cannot tell: the rest of the sample is left out, and the reason is told. */
export class SourceUnavailable extends Error {}

/** A whole number from 0 up to and without `until`. */
export function randomBelow({ random }: Pick<AppContext, 'random'>, until: number): number {
  const value = random.bytes(6).reduce((sum, byte) => sum * 256 + byte, 0)
  return Math.floor((value / 2 ** 48) * until)
}

/** Draws that may give what was drawn before. */
const drawsPerItem = 4

export interface Population<T> {
  /** The first of them, at most so many; left out where even that is too much to ask. */
  readonly first?: (limit: number) => Promise<readonly T[]>
  /** One at random; undefined: there are none. */
  readonly any: () => Promise<T | undefined>
  readonly keyOf: (item: T) => string
}

/** Different ones, at most `count`: all where there are no more, otherwise drawn. */
export async function sampleOf<T>(count: number, { first, any, keyOf }: Population<T>): Promise<readonly T[]> {
  const all = (await first?.(count + 1)) ?? []
  if (first && all.length <= count) return all
  const drawn = new Map<string, T>()
  for (let draws = 0; draws < drawsPerItem * count && drawn.size < count; draws++) {
    const item = await any()
    if (item === undefined) break
    drawn.set(keyOf(item), item)
  }
  return [...drawn.values()]
}

/** `look` resolves to what is wrong, in words. */
export async function compareEach<T>(
  items: readonly T[],
  compare: (item: T) => Promise<string | undefined>,
): Promise<VerificationResult> {
  const differing: string[] = []
  let checked = 0
  for (const item of items) {
    try {
      const difference = await compare(item)
      if (difference !== undefined) differing.push(difference)
      checked += 1
    } catch (error) {
      if (!(error instanceof SourceUnavailable)) throw error
      return { checked, differing, unable: errorMessage(error) }
    }
  }
  return { checked, differing }
}

/** What is told beside the figures, each where there is anything to tell. */
export const optionalNotes = (
  notes: readonly string[],
  unable: readonly string[],
): Pick<VerificationResult, 'note' | 'unable'> => ({
  ...(notes.length > 0 && { note: notes.join('; ') }),
  ...(unable.length > 0 && { unable: unable.join('; ') }),
})

export const nothingToVerify = (note: string): VerificationResult => ({ checked: 0, differing: [], note })
