// Sessions of operators in the console: a one-time link is exchanged for a session, and a session for the API key that
// its pages use (behaviour/operations.md#console-sign-in). Session tokens look like keys, and tokens of links begin with
// `link_`, so that the same code keeps them out of logs.
//
// 1. Only the digest of a token is stored. It is compared in constant time.
// 2. A link is valid for one session: it is deleted in the transaction that creates the session.
// 3. The key of a session is derived from its token, so all pages of a session have the same key and its secret is not
//    stored. It expires with the session and is deleted with it.
// 4. The number of links and sessions is limited: expired ones, and the oldest above the limit, are deleted when the
//    next one is created.
import { createHmac, hash } from 'node:crypto'
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
import type { ProvenTime } from '#runtime/proven-time.ts'
import type { AppContext } from '#server/context.ts'
import { dropKey, findKey, putKey } from '#storage/keys.ts'
import type { StateReader, StateWriter } from '#storage/state.ts'

export type SessionContext = Pick<AppContext, 'state' | 'clock' | 'provenTime' | 'random'>

export const linkMs = 15 * 60_000
export const sessionMs = 12 * 3_600_000

/** Enough for 15 minutes and throttled attempts. */
const linkSecretBytes = 16
const linksMax = 16
const sessionsMax = 64

export interface Session extends KeyParts {
  readonly expiresAtMs: number
}

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

export function createLink({ state, provenTime, random }: SessionContext): Promise<Token> {
  const expiresAtMs = provenTime.forKeys() + linkMs
  const token = `link_${toSecret(random.bytes(linkSecretBytes))}`
  return state.write(async (tx) => {
    await insertToken(tx, 'console_links', linkParts(token), provenTime, expiresAtMs, linksMax)
    return { token, expiresAtMs }
  })
}

/** The token of the new session; undefined if the link is invalid. */
export async function signIn({ state, provenTime, random }: SessionContext, link: string): Promise<Token | undefined> {
  // This needs no authorization, so an invalid link must not cause a write.
  if (!(await findToken(state, 'console_links', linkParts(link), provenTime))) return undefined
  const expiresAtMs = provenTime.forKeys() + sessionMs
  const parts = {
    id: `session-${toKeyId(random.bytes(keyIdBytes))}`,
    secret: toSecret(random.bytes(secretBytes)),
  }
  return state.write(async (tx) => {
    const found = await findToken(tx, 'console_links', linkParts(link), provenTime)
    if (!found || (await tx.run('delete from console_links where id = ?', found.id)) === 0) return undefined
    await insertToken(tx, 'console_sessions', parts, provenTime, expiresAtMs, sessionsMax)
    return { token: keyText(parts), expiresAtMs }
  })
}

export const findSession = (
  { state, provenTime }: Pick<SessionContext, 'state' | 'provenTime'>,
  token: string,
): Promise<Session | undefined> => findToken(state, 'console_sessions', splitKey(token), provenTime)

export const signOut = ({ state }: Pick<SessionContext, 'state'>, session: Session): Promise<void> =>
  state.write((tx) => deleteToken(tx, 'console_sessions', session.id))

/** Ends all sessions and invalidates all links. Returns the number of sessions. */
export const signOutAll = ({ state }: Pick<SessionContext, 'state'>): Promise<number> =>
  state.write(async (tx) => {
    await tx.run('delete from console_links')
    const rows = await tx.all<Row>('select id from console_sessions')
    for (const { id } of rows) await deleteToken(tx, 'console_sessions', id)
    return rows.length
  })

/** The key of the session's pages, created on the first call. If it was revoked or rotated, it is not restored. */
export async function sessionKey(
  { state, clock }: Pick<SessionContext, 'state' | 'clock'>,
  session: Session,
): Promise<Token> {
  const { expiresAtMs } = session
  const secret = toSecret(createHmac('sha256', session.secret).update('key of the console').digest())
  const parts = { id: keyIdOf(session.id), secret }
  const findExisting = async (reader: StateReader): Promise<string | undefined> => {
    const key = await findKey(reader, parts.id)
    if (!key) return undefined
    if (key.revokedAtMs !== undefined || !sameDigest(key.digest, digestOf(parts))) throw new Fault('console.key')
    return keyText(parts)
  }
  const newKey = { ...parts, name: 'console', plan: 'enterprise', expiresAtMs } as const
  const findOrCreate = async (tx: StateWriter) => (await findExisting(tx)) ?? putKey(tx, newKey, clock.now())
  const token = (await findExisting(state)) ?? (await state.write(findOrCreate, { lock: 'keys' }))
  return { token, expiresAtMs }
}

/** Prefix of the ids of session keys. */
export const sessionKeys = 'console-'
const keyIdOf = (sessionId: string): string => sessionId.replace('session-', sessionKeys)

/** Links are short: their token has no id. A part of its hash finds the row. */
const linkParts = (token: string): KeyParts => ({
  id: `link-${hash('sha256', token, 'hex').slice(0, 2 * keyIdBytes)}`,
  secret: token,
})

async function findToken(
  reader: StateReader,
  table: Table,
  parts: KeyParts | undefined,
  provenTime: ProvenTime,
): Promise<Session | undefined> {
  if (!parts) return undefined
  const row = await reader.get<Row>(`select id, digest, expires_ms from ${table} where id = ?`, parts.id)
  const isValid = sameDigest(row?.digest ?? unknownKeyDigest, digestOf(parts))
  return row && isValid && row.expires_ms > provenTime.forKeys() ? { ...parts, expiresAtMs: row.expires_ms } : undefined
}

async function insertToken(
  tx: StateWriter,
  table: Table,
  parts: KeyParts,
  provenTime: ProvenTime,
  expiresAtMs: number,
  rowsMax: number,
): Promise<void> {
  const rows = await tx.all<Row>(`select id, expires_ms from ${table} order by created_ms desc, id`)
  const expiredMs = provenTime.forDeletions()
  const obsolete = rows.filter(({ expires_ms }, at) => expires_ms <= expiredMs || at >= rowsMax - 1)
  for (const { id } of obsolete) await deleteToken(tx, table, id)
  await tx.run(
    `insert into ${table} (id, digest, created_ms, expires_ms) values (?, ?, ?, ?)`,
    ...[parts.id, digestOf(parts), provenTime.forKeys(), expiresAtMs],
  )
}

async function deleteToken(tx: StateWriter, table: Table, id: string): Promise<void> {
  await tx.run(`delete from ${table} where id = ?`, id)
  if (table === 'console_sessions') await dropKey(tx, keyIdOf(id))
}
