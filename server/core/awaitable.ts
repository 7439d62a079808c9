// Values that may have to be waited for. Most requests find everything in memory; each `await` of a value that is already
// there would cost them a microtask (decisions/accept-the-cost-of-checks-on-every-request.md).

export type Awaitable<T> = T | Promise<T>

/** Calls `next` at once if the value is there, otherwise when its promise resolves. */
export function whenReady<T, R>(value: Awaitable<T>, next: (value: T) => Awaitable<R>): Awaitable<R> {
  return value instanceof Promise ? (value as Promise<T>).then(next) : next(value)
}
