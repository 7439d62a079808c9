// CPU time, user and system together. Unlike elapsed time, it does not depend on what else the machine does.
import { readFileSync } from 'node:fs'

/** Linux counts the time of processes in hundredths of a second. */
const tickMs = 10

/** Of child processes that have ended, and of theirs. 0 where there is no /proc. */
export function childrenCpuMs(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8')
    // The name of the program, in parentheses, may contain spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[13]) + Number(fields[14])) * tickMs
  } catch {
    return 0
  }
}

/** Of this process with all its threads, and of its children that have ended. */
export function totalCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + childrenCpuMs()
}
