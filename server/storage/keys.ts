// Creates, finds, changes and revokes API keys in the database. Only functions that create a secret return a whole key.
import { type Group, groups, type Plan, plans } from '#api/contract/routes.ts'
import { invalid } from '#core/fault.ts'
import { digestOf, isKeyId, type KeyParts, keyIdBytes, keyText, secretBytes, toKeyId, toSecret } from '#core/key.ts'
import type { Clock } from '#runtime/clock.ts'
import type { Random } from '#runtime/random.ts'
import type { State, StateReader, StateWriter } from './state.ts'

/** Calls without a key are counted under this id; no key may have it. */
export const anonymousId = 'anonymous'

const namePattern = /^[^\p{Cc}]{1,100}$/u

export interface NewKey {
  /** The owner, for the operator. */
  readonly name: string
  readonly plan: Plan
  /** Default: all groups. */
  readonly groups?: readonly Group[] | undefined
  readonly expiresAtMs?: number | undefined
  /** May call endpoints that change data (behaviour/http.md#admin-keys). */
  readonly admin?: boolean | undefined
}

/** Changes of an existing key; absent members stay unchanged. */
export interface KeyChange {
  readonly name?: string | undefined
  readonly plan?: Plan | undefined
  /** Null: all groups. */
  readonly groups?: readonly Group[] | null | undefined
  /** Null: never. */
  readonly expiresAtMs?: number | null | undefined
  readonly admin?: boolean | undefined
}

/** A key without its digest, for operators. */
export interface KeyInfo {
  readonly id: string
  readonly name: string
  readonly plan: Plan
  readonly groups: readonly Group[]
  readonly admin: boolean
  readonly createdAtMs: number
  readonly expiresAtMs: number | undefined
  readonly revokedAtMs: number | undefined
  /** Written together with the usage, so it may lag (behaviour/http.md#usage-counters). */
  readonly lastUsedAtMs: number | undefined
  /** The secret before the last rotation works until then, unless the time has passed. */
  readonly oldSecretUntilMs: number | undefined
}

export interface KeyRecord extends KeyInfo {
  readonly digest: Uint8Array
  readonly oldDigest: Uint8Array | undefined
}

interface KeyRow {
  id: string
  name: string
  plan: string
  allowed_groups: string | null
  admin: number
  digest: Uint8Array
  old_digest: Uint8Array | null
  old_until_ms: number | null
  created_ms: number
  expires_ms: number | null
  revoked_ms: number | null
  last_used_ms: number | null
}

/** Part of every change except the last-used time. Invalidates cached keys. */
const advanceRevisionSql = 'update key_revision set revision = revision + 1'

export async function keyRevision(state: StateReader): Promise<number> {
  return (await state.get<{ revision: number }>('select revision from key_revision'))?.revision ?? 0
}

/** The returned key is the only copy of its secret. */
export async function createKey(
  state: State,
  wanted: NewKey,
  clock: Clock,
  random: Random,
): Promise<{ readonly id: string; readonly key: string }> {
  return issueKey(state, { ...wanted, id: toKeyId(random.bytes(keyIdBytes)) }, clock, random)
}

/**
 * Creates a key with a given id and a new secret. If the id exists, its old secret becomes invalid, its properties are
 * replaced and a revocation is undone; usage and creation time stay.
 */
export async function issueKey(
  state: State,
  wanted: NewKey & { readonly id: string },
  clock: Clock,
  random: Random,
): Promise<{ readonly id: string; readonly key: string }> {
  const parts = { id: wanted.id, secret: newSecret(random) }
  const key = await state.write((tx) => putKey(tx, { ...wanted, ...parts }, clock.now()), { lock: 'keys' })
  return { id: wanted.id, key }
}

const newSecret = (random: Random): string => toSecret(random.bytes(secretBytes))

/** The same in the transaction of the caller, with a given secret of 256 random bits. */
export async function putKey(tx: StateWriter, wanted: NewKey & KeyParts, nowMs: number): Promise<string> {
  checkWanted(wanted, nowMs)
  const { id, secret, name, plan, groups: allowed, expiresAtMs, admin = false } = wanted
  const parts = { id, secret }
  await tx.run(
    `insert into keys (id, name, plan, allowed_groups, admin, digest, created_ms, expires_ms)
     values (?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (id) do update set name = excluded.name, plan = excluded.plan,
       allowed_groups = excluded.allowed_groups, admin = excluded.admin, digest = excluded.digest,
       old_digest = null, old_until_ms = null, expires_ms = excluded.expires_ms, revoked_ms = null`,
    ...[id, name, plan, allowed ? groupsText(allowed) : null, admin ? 1 : 0, digestOf(parts), nowMs],
    expiresAtMs ?? null,
  )
  await tx.run(advanceRevisionSql)
  return keyText(parts)
}

const groupsText = (allowed: readonly Group[]): string => groups.filter((group) => allowed.includes(group)).join(',')

export interface Rotation {
  readonly id: string
  /** Required for a revoked key, which then works again. */
  readonly restore?: boolean
  /** The old secret works until then. Default: it stops working at once. */
  readonly oldSecretUntilMs?: number | undefined
}

export interface RotatedKey {
  readonly id: string
  readonly key: string
  readonly oldSecretUntilMs: number | undefined
}

const overlapMaxMs = 90 * 86_400_000

/**
 * Creates a new secret for an existing key (behaviour/http.md#new-secret-for-a-key). A still older secret stops working.
 * Undefined for an unknown key. state.ts, rule 15: when other processes apply this and the changes below.
 */
export async function rotateKey(
  state: State,
  { id, restore = false, oldSecretUntilMs }: Rotation,
  clock: Clock,
  random: Random,
): Promise<RotatedKey | undefined> {
  const parts = { id, secret: newSecret(random) }
  return state.write(
    async (tx) => {
      const key = await findKey(tx, id)
      if (!key) return undefined
      checkRotation(key, restore, oldSecretUntilMs, clock.now())
      const hasOverlap = oldSecretUntilMs !== undefined
      await tx.run(
        'update keys set digest = ?, old_digest = ?, old_until_ms = ?, revoked_ms = null where id = ?',
        ...[digestOf(parts), hasOverlap ? key.digest : null, oldSecretUntilMs ?? null, id],
      )
      await tx.run(advanceRevisionSql)
      return { id, key: keyText(parts), oldSecretUntilMs }
    },
    { lock: 'keys' },
  )
}

function checkRotation(key: KeyInfo, restore: boolean, oldSecretUntilMs: number | undefined, nowMs: number): void {
  const isRevoked = key.revokedAtMs !== undefined
  if (isRevoked && !restore)
    throw invalid(['restore'], 'is required for a revoked key: with a new secret it works again')
  if (key.expiresAtMs !== undefined && key.expiresAtMs <= nowMs)
    throw invalid(['expires'], 'is in the past: the new secret would not work; set a later expiry first')
  if (oldSecretUntilMs === undefined) return
  if (isRevoked) throw invalid(['oldSecretUntil'], 'is not possible for a revoked key: its old secret stays invalid')
  if (!(oldSecretUntilMs > nowMs && oldSecretUntilMs <= nowMs + overlapMaxMs))
    throw invalid(['oldSecretUntil'], 'must be in the next 90 days')
}

/** Changes a key except its secret. False for an unknown key. */
export async function editKey(state: State, id: string, change: KeyChange, clock: Clock): Promise<boolean> {
  return state.write(
    async (tx) => {
      const row = await tx.get<KeyRow>('select * from keys where id = ?', id)
      if (!row) return false
      const { name = row.name, plan = row.plan as Plan, admin = row.admin === 1, groups: allowed, expiresAtMs } = change
      checkWanted({ id, name, plan, groups: allowed ?? undefined, expiresAtMs: expiresAtMs ?? undefined }, clock.now())
      await tx.run(
        'update keys set name = ?, plan = ?, admin = ?, allowed_groups = ?, expires_ms = ? where id = ?',
        ...[name, plan, admin ? 1 : 0, allowed === undefined ? row.allowed_groups : allowed && groupsText(allowed)],
        ...[expiresAtMs === undefined ? row.expires_ms : expiresAtMs, id],
      )
      await tx.run(advanceRevisionSql)
      return true
    },
    { lock: 'keys' },
  )
}

export async function findKey(state: StateReader, id: string): Promise<KeyRecord | undefined> {
  const row = await state.get<KeyRow>('select * from keys where id = ?', id)
  return row && { ...toInfo(row), digest: row.digest, oldDigest: row.old_digest ?? undefined }
}

/** Oldest first, including revoked and expired keys. */
export async function listKeys(state: StateReader): Promise<KeyInfo[]> {
  return (await state.all<KeyRow>('select * from keys order by created_ms, id')).map(toInfo)
}

export interface KeySearch {
  /** Part of a name or an id, ignoring case; empty: all keys. */
  readonly text: string
  /** Keys whose ids start with this are omitted. */
  readonly hiddenPrefix: string
  readonly rowsMax: number
  readonly offset: number
}

/** Newest first, with the total number. */
export async function searchKeys(
  state: StateReader,
  { text, hiddenPrefix, rowsMax, offset }: KeySearch,
): Promise<{ readonly keys: readonly KeyInfo[]; readonly total: number }> {
  // The database converts both sides to lower case, because engines differ for some letters.
  const pattern = `%${text.replaceAll(/[%_!]/g, '!$&')}%`
  const where = `where (lower(name) like lower(?) escape '!' or lower(id) like lower(?) escape '!')
    and substr(id, 1, ?) <> ?`
  const values = [pattern, pattern, hiddenPrefix.length, hiddenPrefix]
  const counted = await state.get<{ count: number }>(`select count(*) as count from keys ${where}`, ...values)
  const rows = await state.all<KeyRow>(
    `select * from keys ${where} order by created_ms desc, id desc limit ? offset ?`,
    ...[...values, rowsMax, offset],
  )
  return { keys: rows.map(toInfo), total: Number(counted?.count ?? 0) }
}

/** Revokes a key. False for an unknown key. The time of the first revocation is kept. */
export async function revokeKey(state: State, id: string, clock: Clock): Promise<boolean> {
  return state.write(
    async (tx) => {
      const sql = 'update keys set revoked_ms = coalesce(revoked_ms, ?) where id = ?'
      if ((await tx.run(sql, clock.now(), id)) === 0) return false
      await tx.run(advanceRevisionSql)
      return true
    },
    { lock: 'keys' },
  )
}

/** Deletes a key in the transaction of the caller, for keys of console sessions. */
export async function dropKey(tx: StateWriter, id: string): Promise<void> {
  if ((await tx.run('delete from keys where id = ?', id)) > 0) await tx.run(advanceRevisionSql)
}

/** Part of the transaction that writes the usage. */
export async function writeLastUsed(tx: StateWriter, lastUsedMs: ReadonlyMap<string, number>): Promise<void> {
  const rows = [...lastUsedMs].sort(([one], [other]) => (one < other ? -1 : 1))
  await tx.updateMany('keys', ['id'], ['last_used_ms'], rows)
}

const toInfo = (row: KeyRow): KeyInfo => ({
  id: row.id,
  name: row.name,
  plan: row.plan as Plan,
  groups: row.allowed_groups === null ? groups : (row.allowed_groups.split(',') as Group[]),
  admin: row.admin === 1,
  createdAtMs: row.created_ms,
  expiresAtMs: row.expires_ms ?? undefined,
  revokedAtMs: row.revoked_ms ?? undefined,
  lastUsedAtMs: row.last_used_ms ?? undefined,
  oldSecretUntilMs: row.old_until_ms ?? undefined,
})

function checkWanted(wanted: NewKey & { readonly id: string }, nowMs: number): void {
  const { id, name, plan, groups: allowed, expiresAtMs } = wanted
  if (!isKeyId(id)) throw invalid(['id'], 'must be 1 to 64 characters of A-Z a-z 0-9 _ -', id)
  if (id === anonymousId) throw invalid(['id'], 'is reserved for calls without a key', id)
  if (!namePattern.test(name)) throw invalid(['name'], 'must be 1 to 100 printable characters')
  if (!plans.includes(plan)) throw invalid(['plan'], `must be one of ${plans.join(', ')}`, plan)
  if (allowed && (allowed.length === 0 || !allowed.every((group) => groups.includes(group)))) {
    throw invalid(['groups'], `must be at least one of ${groups.join(', ')}`, allowed.join(','))
  }
  if (expiresAtMs !== undefined && !(Number.isSafeInteger(expiresAtMs) && expiresAtMs > nowMs)) {
    throw invalid(['expires'], 'must be a time in the future', expiresAtMs)
  }
}
