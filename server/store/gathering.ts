// Gathers small writes that arrive at the same time, so that one commit, and one wait for the disk, serves all of them
// (decision 0083). Which engine commits them, and how, is the engine's business.
//
// 1. Whoever comes during one turn of the event loop goes together, up to a limit; nobody waits for a timer.
// 2. A gathering takes one turn among the writes: order and limits of the queue hold for it as for any other.
// 3. Every member is answered exactly once.
import { nextTurn } from '#io/clock.ts'
import type { StateWriter } from './state.ts'
import type { Turns } from './turns.ts'

const gatheredMax = 256

/** A write that may share its commit. */
export interface Member {
  readonly work: (tx: StateWriter) => Promise<unknown>
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

export class Gathering {
  readonly #turns: Turns
  readonly #commit: (members: readonly Member[]) => Promise<void>
  #waiting: Member[] = []

  /** `commit` answers the members; what it throws is the answer of those it has not answered. */
  constructor(turns: Turns, commit: (members: readonly Member[]) => Promise<void>) {
    this.#turns = turns
    this.#commit = commit
  }

  async join<T>(work: (tx: StateWriter) => Promise<T>): Promise<T> {
    this.#turns.refuseOver(this.#waiting.length)
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push({ work, resolve: resolve as Member['resolve'], reject })
      if (this.#waiting.length === 1) this.#begin()
    })
  }

  #begin(): void {
    const turn = this.#turns.take(async () => {
      await nextTurn()
      const gathered = this.#waiting.splice(0)
      for (let at = 0; at < gathered.length; at += gatheredMax) {
        await this.#answer(gathered.slice(at, at + gatheredMax))
      }
    })
    // The queue itself refused: nobody else will come for those who wait.
    turn.catch((error: unknown) => {
      for (const { reject } of this.#waiting.splice(0)) reject(error)
    })
  }

  async #answer(members: readonly Member[]): Promise<void> {
    try {
      await this.#commit(members)
    } catch (error) {
      for (const { reject } of members) reject(error)
    }
  }
}
