// Requests that the typed client does not cover (session, health, coverage), with a timeout and readable errors.

/** Longer than the five seconds that the server allows each of its own checks. */
const timeoutMs = 10_000

export class NoResponseError extends Error {}

/** Dispatched when a request is refused, so that the session provider checks whether the session has ended. */
export const refusedEvent = 'tetrad-refused'
export const notifyRefused = () => void window.dispatchEvent(new Event(refusedEvent))

export const withRefusalNotice =
  (call: typeof fetch): typeof fetch =>
  async (...request) => {
    const response = await call(...request)
    if (response.status === 401 || response.status === 403) notifyRefused()
    return response
  }

export async function request(path: string, init: RequestInit = {}) {
  try {
    const response = await withRefusalNotice(fetch)(path, { ...init, signal: AbortSignal.timeout(timeoutMs) })
    return { ok: response.ok, status: response.status, text: await response.text() }
  } catch (cause) {
    throw new NoResponseError('The server does not respond.', { cause })
  }
}

/** Reads a public JSON document. `otherStatuses` are error statuses that also carry the document. */
export async function readJson<T>(path: string, otherStatuses: readonly number[] = []): Promise<T> {
  const { ok, status, text } = await request(path)
  if (!ok && !otherStatuses.includes(status)) throw new Error(`${path} failed with status ${status}.`)
  try {
    return JSON.parse(text) as T
  } catch {
    throw new Error(`${path} returned status ${status} without valid JSON.`)
  }
}
