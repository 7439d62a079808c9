// What holds for every transaction, whatever the engine: one failed statement dooms all of it (PostgreSQL and DuckDB
// insist, SQLite would carry on), and nothing may be added after its end.
import { strict as assert } from 'node:assert'

export class TransactionGuard {
  #failure: { readonly error: unknown } | undefined
  #ended = false

  /** Lets a statement in. */
  checkOpen(): void {
    // A promise nobody awaited would otherwise write into somebody else's transaction.
    assert(!this.#ended, 'a transaction was used after its end; await everything inside it')
    this.#throwIfFailed()
  }

  /** Remembers that a statement failed; returns the error to throw. */
  markFailed(error: unknown): unknown {
    this.#failure ??= { error }
    return error
  }

  /** Before the commit: throws the first failure, also when the work had swallowed it. */
  end(): void {
    this.#ended = true
    this.#throwIfFailed()
  }

  #throwIfFailed(): void {
    if (this.#failure) throw this.#failure.error
  }
}
