// Verification of stored results: draws a random sample and derives each result again from its sources.
import { errorMessage } from '#core/error-message.ts'
import type { AppContext } from '#server/context.ts'

export interface VerificationResult {
  readonly checked: number
  /** One text for each difference: which result, what is stored, what the source gives now. */
  readonly differing: readonly string[]
  /** Differences that may be due to a changed source. */
  readonly doubtful?: readonly string[]
  /** What was compared, or why there is nothing to compare. */
  readonly note?: string
  /** Why the rest of the sample could not be compared. */
  readonly unable?: string
}

export interface Verification {
  /** What is compared with what. */
  readonly name: string
  readonly run: (context: AppContext, sampleSize: number, dataDir?: string) => Promise<VerificationResult>
  /** What to do about a difference. */
  readonly todo: string
}

/** The source of a result cannot be read. The rest of the sample is skipped, and the message is reported. */
export class SourceUnavailable extends Error {}

/** A random integer from 0 to `until - 1`. */
export function randomBelow({ random }: Pick<AppContext, 'random'>, until: number): number {
  const value = random.bytes(6).reduce((sum, byte) => sum * 256 + byte, 0)
  return Math.floor((value / 2 ** 48) * until)
}

/** A draw may return an item that was drawn before. */
const drawsPerItem = 4

export interface Population<T> {
  /** The first `limit` items. */
  readonly takeFirst: (limit: number) => Promise<readonly T[]>
  /** A random item; undefined: there are none. */
  readonly drawOne: () => Promise<T | undefined>
  readonly keyOf: (item: T) => string
}

/** At most `count` distinct items: all of them if there are so few, otherwise a random sample. */
export async function sampleOf<T>(count: number, { takeFirst, drawOne, keyOf }: Population<T>): Promise<readonly T[]> {
  const all = await takeFirst(count + 1)
  if (all.length <= count) return all
  const drawn = new Map<string, T>()
  for (let draws = 0; draws < drawsPerItem * count && drawn.size < count; draws++) {
    const item = await drawOne()
    if (item === undefined) break
    drawn.set(keyOf(item), item)
  }
  return [...drawn.values()]
}

/** `compare` returns a description of the difference, if there is one. */
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

export const optionalNotes = (
  notes: readonly string[],
  unable: readonly string[],
): Pick<VerificationResult, 'note' | 'unable'> => ({
  ...(notes.length > 0 && { note: notes.join('; ') }),
  ...(unable.length > 0 && { unable: unable.join('; ') }),
})

export const nothingToVerify = (note: string): VerificationResult => ({ checked: 0, differing: [], note })
