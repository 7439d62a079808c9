// Enforces the same rules for transactions on both engines: a failed statement fails the transaction, and statements after
// its end are refused.
import { strict as assert } from 'node:assert'
import type { StateWriter } from './state.ts'

export class TransactionGuard {
  #failure: { readonly error: unknown } | undefined
  #ended = false

  /** Call before every statement. */
  checkOpen(): void {
    // A promise that was not awaited would otherwise write into another transaction.
    assert(!this.#ended, 'a transaction was used after its end; await everything inside it')
    this.#throwIfFailed()
  }

  /** Records a failed statement and returns the error to throw. */
  markFailed(error: unknown): unknown {
    this.#failure ??= { error }
    return error
  }

  /** Call before the commit. Throws the first failure, even if the work caught it. */
  end(): void {
    this.#ended = true
    this.#throwIfFailed()
  }

  #throwIfFailed(): void {
    if (this.#failure) throw this.#failure.error
  }
}

/** Runs the work in a transaction that `open` creates. The caller commits it or rolls it back. */
export async function runGuarded<T>(
  open: (guard: TransactionGuard) => StateWriter,
  work: (tx: StateWriter) => Promise<T>,
): Promise<T> {
  const guard = new TransactionGuard()
  try {
    const result = await work(open(guard))
    guard.end()
    return result
  } catch (error) {
    throw guard.markFailed(error)
  }
}
