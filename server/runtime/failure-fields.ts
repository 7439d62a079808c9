// Errors in the log. In a file of its own, because threads use it without the logging library.
import { Fault } from '#core/fault.ts'

/**
 * Log fields of an error: its message without paths, and the first line of the stack that is in this project. The message
 * of a fault keeps its paths, because it is written for the operator.
 */
export function failureFields(error: unknown): { error: string; location: string } {
  if (!(error instanceof Error)) return { error: String(error), location: 'unknown' }
  const location =
    /^.*\/((?:api|shared|server|simulator|cli)\/[\w./-]{1,200}\.ts:\d+)/m.exec(error.stack ?? '')?.[1] ?? 'unknown'
  if (error instanceof Fault) return { error: error.message, location }
  return { error: `${error.name}: ${error.message}`.replaceAll(/(\/[\w.@-]+){2,}/g, '…'), location }
}
