// Counts what was compared and what was wrong.

const printedMax = 40

export class Comparison {
  readonly #counts = new Map<string, { compared: number; wrong: number }>()
  #printed = 0

  /** `what`: the kind of figure, for the totals. */
  compare(what: string, label: string, actual: unknown, expected: unknown): void {
    const count = this.#counts.getOrInsertComputed(what, () => ({ compared: 0, wrong: 0 }))
    count.compared += 1
    if (isEqual(actual, expected)) return
    count.wrong += 1
    if (++this.#printed <= printedMax)
      process.stdout.write(`WRONG ${what}: ${label}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}\n`)
  }

  /** Something that must have been seen, without a value to compare. */
  require(what: string, label: string, isTrue: boolean): void {
    this.compare(what, label, isTrue, true)
  }

  print(): void {
    const rows = [...this.#counts].map(
      ([what, { compared, wrong }]) => `${what}: ${compared} compared, ${wrong} wrong\n`,
    )
    process.stdout.write(`\n${rows.join('')}`)
    process.stdout.write(`All: ${this.compared} compared, ${this.wrong} wrong\n`)
  }

  get compared(): number {
    return [...this.#counts.values()].reduce((sum, { compared }) => sum + compared, 0)
  }

  get wrong(): number {
    return [...this.#counts.values()].reduce((sum, { wrong }) => sum + wrong, 0)
  }
}

/** Ratios are rounded to ten decimals in responses. */
const tolerance = 1e-6

function isEqual(actual: unknown, expected: unknown): boolean {
  if (typeof actual === 'number' && typeof expected === 'number') return Math.abs(actual - expected) < tolerance
  if (typeof actual === 'object' && actual !== null) return JSON.stringify(actual) === JSON.stringify(expected)
  return (actual ?? null) === (expected ?? null)
}
