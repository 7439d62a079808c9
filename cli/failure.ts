// Turns any error into a message for the command line: what happened and what to do, never a stack trace.
// Exit codes (behaviour/operations.md#exit-codes): 0 done, 1 failed, 2 wrong usage, 3 partly done.
import { TetradError } from '#api/client/errors.ts'
import { Fault } from '#core/fault.ts'
import { withoutKeys } from '#core/key.ts'
import { failureFields } from '#runtime/failure-fields.ts'
import { PathError, renamePath } from '#runtime/path-error.ts'

export const exitFailed = 1
export const exitUsage = 2
/** The command did a part of the work and reported what it could not do. */
export const exitPartly = 3

/** An error that the user can correct. */
export class CommandFailure extends Error {
  override readonly name: string = 'CommandFailure'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** The command line is not valid: an argument has a wrong form, or options do not fit together. */
export class UsageFailure extends CommandFailure {
  override readonly name = 'UsageFailure'
}

/** Replaces the field names of an endpoint by the names of the command's options. */
export function withOptionNames(error: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof Fault) || error.problems.length === 0) return error
  const message = error.problems.map(
    ({ at, message: problem }) => `${names[at.at(-1) ?? ''] ?? at.join('.')} ${problem}`,
  )
  return new CommandFailure(error.code, `${message.join('; ')}.`)
}

export interface FailureReport {
  readonly code: string
  readonly message: string
}

export function describeFailure(error: unknown): FailureReport {
  const { code, message } = toReport(error)
  return { code, message: withoutKeys(message) }
}

function toReport(error: unknown): FailureReport {
  if (error instanceof CommandFailure) return { code: error.code, message: error.message }
  if (error instanceof Fault) return { code: error.code, message: error.message.slice(`${error.code}: `.length) }
  if (error instanceof TetradError) return { code: error.fault ?? 'ask.refused', message: error.message }
  if (error instanceof Error && error.name === 'ConfigError') return { code: 'config.invalid', message: error.message }
  return describeSystemError(error as NodeJS.ErrnoException)
}

function describeSystemError(
  error: NodeJS.ErrnoException & { port?: number; address?: string; hostname?: string },
): FailureReport {
  const address = `${error.address ?? 'the address'}:${error.port ?? ''}`
  switch (error.code) {
    case 'EADDRINUSE':
      return {
        code: 'listen.in_use',
        message: `${address} is in use by another program. Choose another port with --port; 0 picks a free one.`,
      }
    case 'EADDRNOTAVAIL':
      return {
        code: 'listen.no_address',
        message: `${address} is not an address of this machine. Choose one with --host.`,
      }
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      if (error.syscall !== 'getaddrinfo') break
      return {
        code: 'listen.no_address',
        message: `${error.hostname ?? 'the host'} cannot be resolved. Choose another host with --host.`,
      }
    case 'EACCES':
      if (error.syscall !== 'listen') break
      return {
        code: 'listen.forbidden',
        message: `This user may not listen on ${address}. Choose a port above 1023 with --port.`,
      }
  }
  const renamed = renamePath(error)
  if (renamed instanceof PathError) return { code: 'path.unusable', message: `${renamed.message}.` }
  const { error: message, location } = failureFields(error)
  return { code: 'internal', message: `${message} (${location}). This is a bug in Tetrad.` }
}
