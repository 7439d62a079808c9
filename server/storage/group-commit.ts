// Collects small concurrent writes, so that they share one transaction
// (decisions/share-one-commit-between-concurrent-quotes.md).
//
// 1. Items of one turn of the event loop are written together, up to a limit. There is no timer.
// 2. A group is one entry of the write queue, with its order and limits.
// 3. Every item is resolved or rejected exactly once.
// 4. If a group fails and the database is not the reason, its items are written one by one.
import { Fault } from '#core/fault.ts'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { GroupWrite, State, StateWriter } from './state.ts'
import type { WriteQueue } from './write-queue.ts'

const groupMax = 256

interface WaitingItem {
  readonly item: unknown
  readonly resolve: (result: never) => void
  readonly reject: (error: unknown) => void
}

type Transact = <T>(work: (tx: StateWriter) => Promise<T>) => Promise<T>

/** `transact` runs one transaction, without the queue. */
export function createGroupCommit(writeQueue: WriteQueue, transact: Transact): State['writeTogether'] {
  const waitingOf = new Map<GroupWrite<never, unknown>, WaitingItem[]>()

  async function writeWaiting(write: GroupWrite<never, unknown>, waiting: WaitingItem[]): Promise<void> {
    await nextEventLoopTurn()
    waitingOf.delete(write)
    const items = waiting.splice(0)
    for (let at = 0; at < items.length; at += groupMax) await writeGroup(write, items.slice(at, at + groupMax))
  }

  async function writeGroup(write: GroupWrite<never, unknown>, group: readonly WaitingItem[]): Promise<void> {
    try {
      const items = group.map(({ item }) => item as never)
      const results = await transact((tx) => write(tx, items))
      group.forEach(({ resolve }, at) => void resolve(results[at] as never))
    } catch (error) {
      if (group.length === 1 || isUnavailable(error)) rejectAll(group, error)
      else for (const one of group) await writeGroup(write, [one])
    }
  }

  return async <Item, Result>(write: GroupWrite<Item, Result>, item: Item) => {
    const waiting = waitingOf.getOrInsertComputed(write, () => [])
    writeQueue.refuseIfFull(waiting.length)
    return new Promise<Result>((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (waiting.length > 1) return
      // If the queue refuses the group, its items would never be settled.
      writeQueue.run(() => writeWaiting(write, waiting)).catch((error: unknown) => rejectAll(waiting.splice(0), error))
    })
  }
}

/** Also if it is unknown whether the group was committed. */
const isUnavailable = (error: unknown): boolean => error instanceof Fault && error.code === 'store.unavailable'

function rejectAll(group: readonly WaitingItem[], error: unknown): void {
  for (const { reject } of group) reject(error)
}
