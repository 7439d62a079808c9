// Blocks or ends the thread of the ingesters on request. Every thread that starts during a test loads this file
// (`--import`); it acts only in that thread.
import { StatementSync } from 'node:sqlite'
import { getEnvironmentData, isMainThread, setEnvironmentData, workerData } from 'node:worker_threads'

const key = 'tetrad thread switch'
/** Entries of the shared memory: what to do, how often the thread has started, and whether it is blocked. */
const [command, starts, blocked] = [0, 1, 2]
const commands = { go: 0, block: 1, exit: 2, blockInTransaction: 3 } as const

export interface ThreadSwitch extends Disposable {
  /** It stands still, as in a long computation, until `go`. */
  block(): void
  /** The same after the begin of its next SQLite transaction. */
  blockInTransaction(): void
  go(): void
  /** It ends at once, as after an error that nothing catches. */
  exit(): void
  isBlocked(): boolean
  starts(): number
}

/** For threads that start from now on. */
export function openThreadSwitch(): ThreadSwitch {
  const memory = new Int32Array(new SharedArrayBuffer(12))
  setEnvironmentData(key, memory)
  const option = ['--import', import.meta.url]
  process.execArgv.push(...option)
  const give = (value: number) => {
    Atomics.store(memory, command, value)
    Atomics.notify(memory, command)
  }
  return {
    block: () => give(commands.block),
    blockInTransaction: () => give(commands.blockInTransaction),
    go: () => give(commands.go),
    exit: () => give(commands.exit),
    isBlocked: () => Atomics.load(memory, blocked) === 1,
    starts: () => Atomics.load(memory, starts),
    [Symbol.dispose]() {
      give(commands.go)
      process.execArgv.splice(process.execArgv.lastIndexOf(import.meta.url) - 1, option.length)
      setEnvironmentData(key, undefined)
    },
  }
}

const memory = getEnvironmentData(key) as Int32Array | undefined
if (!isMainThread && memory && (workerData as { start?: { holder?: string } } | null)?.start?.holder !== undefined) {
  Atomics.add(memory, starts, 1)
  const waitWhile = (during: number) => {
    while (Atomics.load(memory, command) === during) {
      Atomics.store(memory, blocked, 1)
      Atomics.wait(memory, command, during)
    }
    Atomics.store(memory, blocked, 0)
  }
  const exitIfTold = () => {
    if (Atomics.compareExchange(memory, command, commands.exit, commands.go) === commands.exit) process.exit(1)
  }
  const obey = () => {
    waitWhile(commands.block)
    exitIfTold()
  }
  setInterval(obey, 2).unref()
  const { run } = StatementSync.prototype
  StatementSync.prototype.run = function (this: StatementSync, ...values: Parameters<typeof run>) {
    const changes = run.apply(this, values)
    if (this.sourceSQL === 'begin immediate') {
      waitWhile(commands.blockInTransaction)
      exitIfTold()
    }
    return changes
  } as typeof run
}
