// PostgreSQL's errors in our words: which of them an operator can do something about, and what. Anything else, such as a
// broken constraint or a mistake in the SQL, is a belief of ours that failed, and goes through unchanged.
import { DatabaseError } from 'pg'
import { Fault } from '#core/fault.ts'

/** The connection is gone, or never came about. Whatever was under way on it and not committed has not happened. */
export class ConnectionLost extends Error {
  /** Every host was there and said no: then nobody else can be writing either. */
  readonly refused: boolean

  constructor(reason: string, cause?: unknown, refused = false) {
    super(reason, { cause })
    this.name = 'Lost'
    this.refused = refused
  }
}

/** Why a host that was reached is not the one to use. */
export class UnsuitableHost extends Error {}

/** Nobody listens there, it is starting or recovering, or it is a standby. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof UnsuitableHost || ['ECONNREFUSED', '57P03'].includes((error as { code?: string }).code ?? '')

/** SQLSTATE, or its class, → what to do. */
const messages: Readonly<Record<string, string>> = {
  25006: 'does not take writes: it is a standby or set to read-only; name the primary',
  28: 'refuses this user; check user, password and pg_hba.conf',
  '3D000': 'has no such database; create it, or check the name in store.state',
  '3F000': 'has no schema to put tables into; check search_path',
  40: 'gave this transaction up in favour of another; try again',
  42501: 'does not let this user do that; the user must own the tables',
  53100: 'has a full disk; free some space, nothing that was confirmed is lost',
  53200: 'is out of memory',
  53300: 'has no connection left; raise max_connections or lower store.stateConnections',
  '55P03': 'is held by another process that writes; wait for it, then try again',
  57014: 'took too long; look at what else it is doing',
  '57P': 'is starting, stopping or recovering',
  58: 'cannot read or write its files; check its disk and log',
  XX: 'reports damage; look into its log, and restore a backup if it is so',
}

export const messageOfSqlState = (code: string | undefined): string | undefined =>
  code === undefined ? undefined : (messages[code] ?? messages[code.slice(0, 3)] ?? messages[code.slice(0, 2)])

/**
 * Whether the connection is of no more use: the server has ended it or is about to, or what was prepared on it is out of
 * date because a migration has changed the tables.
 */
export const endsConnection = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  (['FATAL', 'PANIC'].includes(error.severity ?? '') ||
    ['08', '57P'].some((kind) => error.code?.startsWith(kind)) ||
    error.routine === 'RevalidateCachedQuery')

/** A server that was the primary when this connection was made, and is no longer. */
export const isReadOnly = (error: unknown): boolean => error instanceof DatabaseError && error.code === '25006'

/** `of` names the place, without anything secret. */
export function renamePostgres(error: unknown, of: string): unknown {
  if (error instanceof ConnectionLost) {
    const detail = `${of} cannot be reached; check that it runs and that the address is right (${error.message})`
    return new Fault('store.unavailable', { detail, cause: error, retryAfterMs: 1000 })
  }
  const message = error instanceof DatabaseError ? messageOfSqlState(error.code) : undefined
  if (!message) return error
  const detail = `${of} ${message} (PostgreSQL: ${(error as Error).message})`
  return new Fault('store.unavailable', { detail, cause: error, retryAfterMs: 1000 })
}

export const inDoubt = (error: unknown, of: string): Fault =>
  new Fault('store.unavailable', {
    detail: `the connection to ${of} was lost during a commit, and nobody can be asked whether it happened (${(error as Error).message})`,
    cause: error,
    retryAfterMs: 1000,
  })
