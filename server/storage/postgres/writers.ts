// The writers of a process on PostgreSQL: one for each lock, one for writes without a lock, and one for groups of writes.
// Transactions of one writer wait for each other (writer.ts). Those of different writers run at the same time, in connections
// of their own, so that a long or blocked write of markets does not keep quotes waiting.
import { AsyncLocalStorage } from 'node:async_hooks'
import { hash } from 'node:crypto'
import { systemRandom } from '#runtime/random.ts'
import { createGroupCommit } from '../group-commit.ts'
import type { GroupWrite, LockName, State, WriteOptions } from '../state.ts'
import { closedFault, createWriteQueue, type WriteQueue } from '../write-queue.ts'
import type { PostgresAddress } from './address.ts'
import { addTimeline, commitsTable, dropOldCommits, timelinesTable } from './commit-tables.ts'
import type { OwnCommit } from './commit-watch.ts'
import { createOutageRetry } from './outage.ts'
import { WriteSessions } from './write-sessions.ts'
import { lockSql, type Work, Writer, type WriterParts } from './writer.ts'

const writesWaitingMax = 2000

type WriterName = LockName | 'no lock' | 'groups'

interface QueuedWriter {
  readonly queue: WriteQueue
  readonly writer: Writer
}

export class Writers {
  readonly #address: PostgresAddress
  readonly #sessions: WriteSessions
  readonly #parts: WriterParts
  readonly #processId = systemRandom.uuid()
  readonly #currentWrite = new AsyncLocalStorage<{ over: boolean }>()
  readonly #writers = new Map<WriterName, QueuedWriter>()
  #writeGroups: State['writeTogether'] | undefined
  #schema = ''
  #isClosed = false

  /** Call `open` first. `onCommit` is called after each commit that has changed something. */
  constructor(
    address: PostgresAddress,
    waitMs: number,
    statementMs: number | undefined,
    onCommit: (commit: OwnCommit) => void,
  ) {
    this.#address = address
    this.#sessions = new WriteSessions(address, statementMs)
    const retry = createOutageRetry(waitMs)
    this.#parts = { databaseName: address.name, sessions: this.#sessions, retry, waitMs, onCommit }
  }

  async open(): Promise<void> {
    await this.#sessions.use(async (session) => {
      const [row] = await session.readScript<{ schema: string | null }>('select current_schema()::text as schema')
      this.#schema = row?.schema ?? 'public'
      await session.begin('', lockSql(this.#lockKey('schema')))
      await session.script(commitsTable, timelinesTable, dropOldCommits, 'commit')
    })
  }

  /** Gives the timeline of the primary an id, unless it has one (wal-position.ts). */
  async storeTimelineId(): Promise<void> {
    await this.#sessions.use((session) => session.begin('', addTimeline(systemRandom.uuid()), 'commit'))
  }

  async write<T>(work: Work<T>, options: WriteOptions = {}): Promise<T> {
    const { queue, writer } = this.#getWriter(options.lock ?? 'no lock')
    return queue.run(() => writer.transact(work, options))
  }

  async writeTogether<Item, Result>(write: GroupWrite<Item, Result>, item: Item): Promise<Result> {
    const { queue, writer } = this.#getWriter('groups')
    this.#writeGroups ??= createGroupCommit(queue, (work) => writer.transact(work))
    return this.#writeGroups(write, item)
  }

  /** Closes all connections, after the server was found dead. */
  dropConnections(): void {
    this.#sessions.dropConnections()
  }

  /** Accepts no more writes, and resolves when running writes are done. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#writers.values(), ({ queue }) => queue.close()))
    this.#isClosed = true
    await this.#sessions.close()
  }

  #getWriter(name: WriterName): QueuedWriter {
    if (this.#isClosed) throw closedFault(this.#address.name)
    let known = this.#writers.get(name)
    if (!known) {
      known = this.#createWriter(name)
      this.#writers.set(name, known)
    }
    return known
  }

  #createWriter(name: WriterName): QueuedWriter {
    const id = `${this.#processId} ${name}`
    const hasLock = name !== 'no lock' && name !== 'groups'
    const locks = { own: this.#lockKey(id), shared: hasLock ? this.#lockKey(name) : undefined }
    return {
      queue: createWriteQueue(this.#address.name, writesWaitingMax, this.#currentWrite),
      writer: new Writer(id, locks, this.#parts),
    }
  }

  /** Several installations may share a database, each in a schema of its own. */
  #lockKey(name: string): string {
    return Buffer.from(hash('sha256', `tetrad ${this.#schema} ${name}`, 'buffer'))
      .readBigInt64BE()
      .toString()
  }
}
