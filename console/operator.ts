// What only the operator may ask: the calls under /console, which go by the session cookie and not by a key.
import type {
  ConsoleKey,
  ConsoleSession,
  KeyChangeInput,
  KeyList,
  KeyUsage,
  KeyView,
  NewKeyInput,
  NewKeyReply,
  Overview,
  PlanList,
  RotationInput,
} from '#api/console.ts'
import { ask as knock } from './door.ts'

export class OperatorError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

async function ask<T>(method: string, path: string, body?: object): Promise<T> {
  const { ok, status, text } = await knock(`/console/${path}`, {
    method,
    ...(method !== 'GET' && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) }),
  })
  if (ok) return (text === '' ? undefined : JSON.parse(text)) as T
  const { error } = parsed(text)
  throw new OperatorError(status, error?.code ?? 'unknown', error?.message ?? `The server answered ${status}.`)
}

function parsed(text: string): { error?: { code: string; message: string } } {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

export const operator = {
  session: () => ask<ConsoleSession>('GET', 'session'),
  signIn: (token: string) => ask<ConsoleSession>('POST', 'session', { token }),
  signOut: () => ask<ConsoleSession>('DELETE', 'session'),
  ownKey: () => ask<ConsoleKey>('POST', 'key'),
  keys: (find: string, page: number) =>
    ask<KeyList>('GET', `keys?${new URLSearchParams({ find, page: String(page) })}`),
  createKey: (wanted: NewKeyInput) => ask<NewKeyReply>('POST', 'keys', wanted),
  editKey: (id: string, change: KeyChangeInput) => ask<KeyView>('POST', `keys/${encodeURIComponent(id)}`, change),
  rotateKey: (id: string, how: RotationInput) => ask<NewKeyReply>('POST', `keys/${encodeURIComponent(id)}/secret`, how),
  revokeKey: (id: string) => ask<unknown>('DELETE', `keys/${encodeURIComponent(id)}`),
  usage: (id: string, days: number) => ask<KeyUsage>('GET', `keys/${encodeURIComponent(id)}/usage?days=${days}`),
  plans: () => ask<PlanList>('GET', 'plans'),
  overview: () => ask<Overview>('GET', 'overview'),
}
