// The public fields of a key, for the console and the command line.
import type { KeyView, NewKeyReply } from '#shared/console-calls.ts'
import type { KeyInfo, RotatedKey } from '#storage/keys.ts'

export const keyView = (key: KeyInfo, nowMs: number): KeyView => ({
  id: key.id,
  name: key.name,
  plan: key.plan,
  groups: key.groups,
  admin: key.admin,
  state: stateOf(key, nowMs),
  createdAt: new Date(key.createdAtMs).toISOString(),
  expiresAt: isoTimeOrNull(key.expiresAtMs),
  revokedAt: isoTimeOrNull(key.revokedAtMs),
  lastUsedAt: isoTimeOrNull(key.lastUsedAtMs),
  oldSecretUntil: isoTimeOrNull(oldSecretUntilMsOf(key, nowMs)),
})

export const rotatedKeyView = ({ id, key, oldSecretUntilMs }: RotatedKey): NewKeyReply => ({
  id,
  key,
  ...(oldSecretUntilMs !== undefined && { oldSecretUntil: new Date(oldSecretUntilMs).toISOString() }),
})

export function stateOf(key: KeyInfo, nowMs: number): KeyView['state'] {
  if (key.revokedAtMs !== undefined) return 'revoked'
  return key.expiresAtMs !== undefined && key.expiresAtMs <= nowMs ? 'expired' : 'active'
}

/** Undefined if the key has no old secret that still works. */
export const oldSecretUntilMsOf = ({ oldSecretUntilMs = 0 }: KeyInfo, nowMs: number): number | undefined =>
  oldSecretUntilMs > nowMs ? oldSecretUntilMs : undefined

const isoTimeOrNull = (atMs: number | undefined) => (atMs === undefined ? null : new Date(atMs).toISOString())
