// A clock that never waits: a sleep moves the time forward at once, so a test does not depend on the speed of the machine.
// Not for code that races a sleep against work.
import type { Clock } from '#runtime/clock.ts'

export class JumpingClock implements Clock {
  readonly #startMs: number
  #nowMs: number

  constructor(nowMs: number) {
    this.#startMs = nowMs
    this.#nowMs = nowMs
  }

  now(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs - this.#startMs
  }

  sleep(waitMs: number): Promise<void> {
    this.#nowMs += Math.ceil(waitMs)
    return Promise.resolve()
  }

  every(): () => void {
    return () => {}
  }

  advance(byMs: number): void {
    this.#nowMs += byMs
  }
}
