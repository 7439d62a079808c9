// Calls under /console. Those of the operator authenticate with the session cookie, not with a key.

import { parseJson } from '#api/contract/json.ts'
import type {
  AlertsView,
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
  QuoteList,
  RotationInput,
  ServerHistory,
  StoredQuote,
  TestAlertReply,
} from '#shared/console-calls.ts'
import { request } from './http.ts'

export class OperatorError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** `key`: an API key, for calls that visitors may make. */
export async function callConsole<T>(method: string, path: string, body?: object, key?: string): Promise<T> {
  const { ok, status, text } = await request(`/console/${path}`, {
    method,
    ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
    ...(method !== 'GET' && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body ?? {}) }),
  })
  if (ok) return (text === '' ? undefined : parseJson(text)) as T
  const { error } = parseError(text)
  throw new OperatorError(
    status,
    error?.code ?? 'unknown',
    error?.message ?? `The request failed with status ${status}.`,
  )
}

function parseError(text: string): { error?: { code: string; message: string } } {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

export const operator = {
  session: () => callConsole<ConsoleSession>('GET', 'session'),
  signIn: (token: string) => callConsole<ConsoleSession>('POST', 'session', { token }),
  signOut: () => callConsole<ConsoleSession>('DELETE', 'session'),
  ownKey: () => callConsole<ConsoleKey>('POST', 'key'),
  keys: (find: string, page: number) =>
    callConsole<KeyList>('GET', `keys?${new URLSearchParams({ find, page: String(page) })}`),
  createKey: (input: NewKeyInput) => callConsole<NewKeyReply>('POST', 'keys', input),
  editKey: (id: string, change: KeyChangeInput) =>
    callConsole<KeyView>('POST', `keys/${encodeURIComponent(id)}`, change),
  rotateKey: (id: string, input: RotationInput) =>
    callConsole<NewKeyReply>('POST', `keys/${encodeURIComponent(id)}/secret`, input),
  revokeKey: (id: string) => callConsole<unknown>('DELETE', `keys/${encodeURIComponent(id)}`),
  usage: (id: string, days: number) =>
    callConsole<KeyUsage>('GET', `keys/${encodeURIComponent(id)}/usage?days=${days}`),
  quotes: (page: number) => callConsole<QuoteList>('GET', `quotes?page=${page}`),
  quote: (id: string) => callConsole<StoredQuote>('GET', `quotes/${encodeURIComponent(id)}`),
  alerts: () => callConsole<AlertsView>('GET', 'alerts'),
  sendTestAlert: (webhook: string) => callConsole<TestAlertReply>('POST', `alerts/${encodeURIComponent(webhook)}/test`),
  plans: () => callConsole<PlanList>('GET', 'plans'),
  history: () => callConsole<ServerHistory>('GET', 'history'),
  overview: () => callConsole<Overview>('GET', 'overview'),
}
