// Lets long work yield to the event loop every few milliseconds, so that other requests are not delayed.
//
// 1. Of all long requests, only one continues in each turn of the event loop (`yieldInOrder`). Many long requests slow
//    each other down, but not the short ones.
// 2. Work inside a snapshot that other requests may wait for yields with `nextEventLoopTurn` instead.
import { nextEventLoopTurn } from '#runtime/clock.ts'

/** Steps between two yields. A step costs about as much as reading a row. */
const stepsPerYield = 500
/** The cost of a statement without its rows. */
export const statementSteps = 4

let lastYield: Promise<void> = Promise.resolve()

/** Resolves in a turn of its own (1). */
export function yieldInOrder(): Promise<void> {
  lastYield = lastYield.then(nextEventLoopTurn)
  return lastYield
}

export class EventLoopYielder {
  readonly #yield: () => Promise<void>
  readonly #stepsPerYield: number
  #steps = 0

  /** `yieldInOrder` for long requests, the default inside a snapshot. */
  constructor(yieldOnce: () => Promise<void> = nextEventLoopTurn, stepsMax = stepsPerYield) {
    this.#yield = yieldOnce
    this.#stepsPerYield = stepsMax
  }

  async spend(steps: number): Promise<void> {
    this.#steps += steps
    if (this.#steps < this.#stepsPerYield) return
    this.#steps = 0
    await this.#yield()
  }
}
