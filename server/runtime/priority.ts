// Priorities of work that can wait, so that requests are handled first if there are fewer cores than work. Without the
// permission to change it, or on a system that cannot, the priority stays.
import { readdirSync, readlinkSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import { basename } from 'node:path'

/** Of the thread that calls this. Only Linux has a priority for each thread. */
export function lowerThreadPriority(): void {
  if (process.platform !== 'linux') return
  try {
    const threadId = Number(basename(readlinkSync('/proc/thread-self')))
    // Of the main thread: this one inherits the priority of the thread that started it.
    setPriority(threadId, Math.min(PRIORITY_LOW, getPriority(process.pid) + PRIORITY_BELOW_NORMAL))
  } catch {}
}

/** Of the whole process, with the threads of V8. */
export function lowerProcessPriority(): void {
  try {
    // On Linux, the priority of a process is that of its main thread.
    const ids = process.platform === 'linux' ? readdirSync('/proc/self/task').map(Number) : [process.pid]
    for (const id of ids) setPriority(id, Math.max(getPriority(id), PRIORITY_BELOW_NORMAL))
  } catch {}
}

const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority
