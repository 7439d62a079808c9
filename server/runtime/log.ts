// Structured log lines. The only file that names the logging library. Whatever is logged has been cleaned of keys
// before it gets here; the redaction below is the second lock on that door.
import { pino } from 'pino'
import { Fault } from '#core/fault.ts'
import { withoutKeys } from '#core/key.ts'

export interface Log {
  debug(fields: object, words: string): void
  info(fields: object, words: string): void
  warn(fields: object, words: string): void
  error(fields: object, words: string): void
  child(fields: object): Log
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

export function openLog(level: LogLevel, write: (line: string) => void): Log {
  return pino(
    { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"`, formatters: { log: bounded } },
    { write: (line: string) => write(withoutKeys(line)) },
  )
}

/** Callers, nodes and feeds decide what stands in a field: no line may grow with it. */
const textCharsMax = 2000
const itemsMax = 100
const depthMax = 4

const bounded = (fields: Record<string, unknown>) => boundValue(fields, 0) as Record<string, unknown>

function boundValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return value.length > textCharsMax ? `${value.slice(0, textCharsMax)}…` : value
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  if (depth >= depthMax) return '…'
  if (Array.isArray(value)) return value.slice(0, itemsMax).map((item) => boundValue(item, depth + 1))
  const members = Object.entries(value).slice(0, itemsMax)
  return Object.fromEntries(members.map(([name, member]) => [name, boundValue(member, depth + 1)]))
}

export const silentLog: Log = openLog('silent', () => {})

/**
 * A failure in fields fit for a log line: its kind, words and first line of ours, without stack or paths. A fault's own words were
 * written for the operator, who needs to know which file it is.
 */
export function failureFields(error: unknown): { error: string; where: string } {
  if (!(error instanceof Error)) return { error: String(error), where: 'unknown' }
  const where = /\/((?:api|server|sim|cli)\/[\w./-]{1,200}\.ts:\d+)/.exec(error.stack ?? '')?.[1] ?? 'unknown'
  if (error instanceof Fault) return { error: error.message, where }
  return { error: `${error.name}: ${error.message}`.replaceAll(/(\/[\w.@-]+){2,}/g, '…'), where }
}
