// Long work on the thread that also answers callers: it lets go of the thread every few milliseconds.
//
// 1. Of all answers that take long, one goes on in each turn of the event loop: many of them at once make each other slower,
//    not the answers that are quick.
// 2. A transaction waits for nobody but what is ready now, because whoever wants to write waits for it.
import { nextEventLoopTurn } from '#runtime/clock.ts'

/** Steps in one stretch. A step is the reading of a row. */
const stepsPerYield = 500
/** What a statement costs beside its rows. */
export const statementSteps = 4

let lastTurn: Promise<void> = Promise.resolve()

/** Resolves in a turn of its own (1). */
export function yieldInOrder(): Promise<void> {
  lastTurn = lastTurn.then(nextEventLoopTurn)
  return lastTurn
}

export class EventLoopYielder {
  readonly #yield: () => Promise<void>
  #steps = 0

  /** `inLine` for answers, `nextTurn` inside a transaction. */
  constructor(yieldOnce: () => Promise<void>) {
    this.#yield = yieldOnce
  }

  async spend(steps: number): Promise<void> {
    this.#steps += steps
    if (this.#steps < stepsPerYield) return
    this.#steps = 0
    await this.#yield()
  }
}
