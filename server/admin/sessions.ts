// Who the operator is: a one-time link is exchanged for a session, and a session for the key that its pages call with
// (behaviour/operations.md#console-sign-in). Tokens have the form of keys, so whatever keeps keys out of logs keeps these out too.
//
// 1. A token is handed out once; stored is its digest, and compared in constant time.
// 2. A link is worth one session: it goes in the transaction that makes the session, in whichever process.
// 3. The key of a session is derived from its token, so that two pages of one session have the same key, and neither is
//    stored. It ends with the session and is removed with it.
// 4. Links and sessions are few: expired ones, and the oldest of too many, go when the next is made.
import { createHmac } from 'node:crypto'
import { Fault } from '#core/fault.ts'
import {
  digestOf,
  type KeyParts,
  keyIdBytes,
  keyText,
  sameDigest,
  secretBytes,
  splitKey,
  toKeyId,
  toSecret,
  unknownKeyDigest,
} from '#core/key.ts'
import type { AppContext } from '#server/context.ts'
import { dropKey, findKey, putKey } from '#storage/keys.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'

export type SessionContext = Pick<AppContext, 'state' | 'clock' | 'random'>

export const linkMs = 15 * 60_000
export const sessionMs = 12 * 3_600_000

const linksMax = 16
const sessionsMax = 64

export interface Session extends KeyParts {
  readonly expiresAtMs: number
}

/** A token and until when it is good. */
export interface Token {
  readonly token: string
  readonly expiresAtMs: number
}

type Table = 'console_links' | 'console_sessions'

interface Row {
  readonly id: string
  readonly digest: Uint8Array
  readonly expires_ms: number
}

export function createLink({ state, clock, random }: SessionContext): Promise<Token> {
  const expiresAtMs = clock.now() + linkMs
  const parts = createTokenParts('link', random)
  return state.write(async (tx) => {
    await insertToken(tx, 'console_links', parts, clock.now(), expiresAtMs, linksMax)
    return { token: keyText(parts), expiresAtMs }
  })
}

/** The session's token, or undefined when the link is not good, for whatever reason. */
export async function signIn({ state, clock, random }: SessionContext, link: string): Promise<Token | undefined> {
  // Anybody may try links: a bad one costs a read and does not wait for its turn to write.
  if (!(await findToken(state, 'console_links', link, clock.now()))) return undefined
  const expiresAtMs = clock.now() + sessionMs
  const parts = createTokenParts('session', random)
  return state.write(async (tx) => {
    const found = await findToken(tx, 'console_links', link, clock.now())
    if (!found || (await tx.run('delete from console_links where id = ?', found.id)) === 0) return undefined
    await insertToken(tx, 'console_sessions', parts, clock.now(), expiresAtMs, sessionsMax)
    return { token: keyText(parts), expiresAtMs }
  })
}

export const findSession = (
  { state, clock }: Pick<SessionContext, 'state' | 'clock'>,
  token: string,
): Promise<Session | undefined> => findToken(state, 'console_sessions', token, clock.now())

export const signOut = ({ state }: Pick<SessionContext, 'state'>, session: Session): Promise<void> =>
  state.write((tx) => drop(tx, 'console_sessions', session.id))

/** Ends every session and voids every link; tells how many sessions there were. */
export const signOutAll = ({ state }: Pick<SessionContext, 'state'>): Promise<number> =>
  state.write(async (tx) => {
    await tx.run('delete from console_links')
    const rows = await tx.all<Row>('select id from console_sessions')
    for (const { id } of rows) await drop(tx, 'console_sessions', id)
    return rows.length
  })

/**
 * The key of the session's pages, made when it is first asked for and the same ever after. One that the operator revoked, or
 * gave another secret, is not brought back.
 */
export async function sessionKey(
  { state, clock }: Pick<SessionContext, 'state' | 'clock'>,
  session: Session,
): Promise<Token> {
  const { expiresAtMs } = session
  const secret = toSecret(createHmac('sha256', session.secret).update('key of the console').digest())
  const parts = { id: keyIdOf(session.id), secret }
  const standing = async (reader: StateReader): Promise<string | undefined> => {
    const found = await findKey(reader, parts.id)
    if (!found) return undefined
    if (found.revokedAtMs !== undefined || !sameDigest(found.digest, digestOf(parts))) throw new Fault('console.key')
    return keyText(parts)
  }
  const wanted = { ...parts, name: 'console', plan: 'enterprise', expiresAtMs } as const
  const make = async (tx: StateWriter) => (await standing(tx)) ?? putKey(tx, wanted, clock.now())
  return { token: (await standing(state)) ?? (await state.write(make)), expiresAtMs }
}

/** What the ids of sessions' keys begin with. */
export const sessionKeys = 'console-'
const keyIdOf = (sessionId: string): string => sessionId.replace('session-', sessionKeys)

const createTokenParts = (kind: string, random: AppContext['random']): KeyParts => ({
  id: `${kind}-${toKeyId(random.bytes(keyIdBytes))}`,
  secret: toSecret(random.bytes(secretBytes)),
})

async function findToken(
  reader: StateReader,
  table: Table,
  token: string,
  nowMs: number,
): Promise<Session | undefined> {
  const shown = splitKey(token)
  if (!shown) return undefined
  const row = await reader.get<Row>(`select id, digest, expires_ms from ${table} where id = ?`, shown.id)
  const same = sameDigest(row?.digest ?? unknownKeyDigest, digestOf(shown))
  return row && same && row.expires_ms > nowMs ? { ...shown, expiresAtMs: row.expires_ms } : undefined
}

async function insertToken(
  tx: StateWriter,
  table: Table,
  parts: KeyParts,
  nowMs: number,
  expiresAtMs: number,
  rowsMax: number,
): Promise<void> {
  const rows = await tx.all<Row>(`select id, expires_ms from ${table} order by created_ms desc, id`)
  const gone = rows.filter(({ expires_ms }, at) => expires_ms <= nowMs || at >= rowsMax - 1)
  for (const { id } of gone) await drop(tx, table, id)
  await tx.run(
    `insert into ${table} (id, digest, created_ms, expires_ms) values (?, ?, ?, ?)`,
    ...[parts.id, digestOf(parts), nowMs, expiresAtMs],
  )
}

async function drop(tx: StateWriter, table: Table, id: string): Promise<void> {
  await tx.run(`delete from ${table} where id = ?`, id)
  if (table === 'console_sessions') await dropKey(tx, keyIdOf(id))
}
