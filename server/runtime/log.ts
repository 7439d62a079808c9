// Structured log as JSON lines. The only file that imports the logging library. Callers must not log keys; as a second
// protection, keys are removed from every line.
import { pino } from 'pino'
import { withoutKeys } from '#core/key.ts'

export interface Log {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  child(fields: object): Log
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

export function openLog(level: LogLevel, write: (line: string) => void): Log {
  return pino(
    { level, base: null, timestamp: () => `,"time":"${new Date().toISOString()}"`, formatters: { log: bounded } },
    { write: (line: string) => write(withoutKeys(line)) },
  )
}

/** Limits for fields, whose content may come from callers, nodes and feeds. */
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
