// Turns PostgreSQL errors that an operator can fix into faults with advice. Other errors, such as violated constraints or
// invalid SQL, are bugs and stay unchanged.
import { DatabaseError } from 'pg'
import type { Fault } from '#core/fault.ts'
import { unavailable } from '../write-queue.ts'

/** The connection was lost or could not be opened. Uncommitted statements have no effect. */
export class ConnectionLost extends Error {
  /** All hosts refused the connection, so no process can write. */
  readonly refused: boolean
  /** Why the server cannot be used, although it was reached; undefined: it was not, or the reason is unknown. */
  readonly answer: string | undefined

  /** `failures`: of all hosts. */
  constructor(reason: string, failures: readonly unknown[] = [], refused = false) {
    super(reason, { cause: failures[0] })
    this.name = 'ConnectionLost'
    this.refused = refused
    const answers = failures.map(answerOf)
    this.answer = answers.includes(undefined) ? undefined : [...new Set(answers)].join('; it ') || undefined
  }

  /** As during a restart or a failover. Otherwise a server has replied that something is wrong with the configuration. */
  get mayPass(): boolean {
    return this.refused || this.answer === undefined
  }
}

/** A statement got no reply within its limit. It is not repeated, because the caller has waited as long as it may. */
export class NoReply extends ConnectionLost {
  constructor(limitMs: number) {
    super(`no reply to a statement for ${limitMs / 1000} s, so its connection was closed`)
  }
}

/** The server was reached but cannot be used. The message follows its name. */
export class UnusableServer extends Error {}

/** The host is a standby. */
export class UnsuitableHost extends UnusableServer {}

/** What the server answered, and what to do; follows its name. */
function answerOf(error: unknown): string | undefined {
  if (error instanceof UnusableServer) return error.message
  const message = error instanceof DatabaseError ? messageOfSqlState(error.code) : undefined
  return message && `${message} (PostgreSQL: ${(error as Error).message})`
}

/** Connection refused, server starting or recovering, or a standby. */
export const isRefusal = (error: unknown): boolean =>
  error instanceof UnsuitableHost || ['ECONNREFUSED', '57P03'].includes((error as { code?: string }).code ?? '')

/** By SQLSTATE or its class. */
const messages: Readonly<Record<string, string>> = {
  25006:
    'does not accept writes: it is a standby or read-only; configure the primary, or set default_transaction_read_only to off',
  28: 'refuses this user; check user, password and pg_hba.conf',
  '3D000': 'has no such database; create it, or check the name in store.state',
  '3F000': 'has no schema for the tables; check search_path',
  40: 'aborted this transaction because of a conflict; try again',
  '42P07':
    'has a table of another program with the name of one of ours; use another database, or a schema of its own (search_path)',
  42501: 'denied permission; the user must own the tables',
  53100: 'has a full disk; free space; confirmed data is not lost',
  53200: 'is out of memory',
  53300: 'has no connection left; raise max_connections or lower store.stateConnections',
  '55P03': 'is locked by another writing process; wait, then try again',
  57014: 'took too long; check its load',
  '57P': 'is starting, stopping or recovering',
  58: 'cannot read or write its files; check its disk and log',
  XX: 'reports corrupted data; check its log, and restore a backup if necessary',
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

/** A deadlock, or a conflict of transactions: the transaction can be repeated. */
export const isConflict = (error: unknown): boolean =>
  error instanceof DatabaseError && (error.code === '40P01' || error.code === '40001')

/** A server that was the primary when this connection was made, and is no longer. */
export const isReadOnly = (error: unknown): boolean => error instanceof DatabaseError && error.code === '25006'

/** `server` is its name without credentials. */
export function explainPostgresError(error: unknown, server: string): unknown {
  if (error instanceof NoReply)
    return unavailable(`${server}: ${error.message}; check its load, the network, and the pooler`, error)
  if (error instanceof ConnectionLost) {
    if (error.answer !== undefined) return unavailable(`${server} ${error.answer}`, error)
    const detail = `${server} cannot be reached; check that it is running, and check its address (${error.message})`
    return unavailable(detail, error)
  }
  const answer = answerOf(error)
  return answer === undefined ? error : unavailable(`${server} ${answer}`, error)
}

export const inDoubt = (error: unknown, server: string): Fault =>
  unavailable(
    `the connection to ${server} was lost during a commit, so it is unknown whether it succeeded (${(error as Error).message})`,
    error,
  )
