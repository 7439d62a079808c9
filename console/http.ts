// How the pages ask for what is not behind the typed client: within a time, and with plain words when nobody answers.

/** The server gives each of its own parts five seconds. */
const waitMs = 10_000

export class NoResponseError extends Error {}

/** Sent to the window when a call was refused: whoever keeps the session asks whether it still stands. */
export const refusedEvent = 'tetrad-refused'
export const notifyRefused = () => void window.dispatchEvent(new Event(refusedEvent))

export const withRefusalNotice =
  (call: typeof fetch): typeof fetch =>
  async (...request) => {
    const response = await call(...request)
    if (response.status === 401 || response.status === 403) notifyRefused()
    return response
  }

export interface HttpReply {
  readonly ok: boolean
  readonly status: number
  readonly text: string
}

export async function request(path: string, init: RequestInit = {}): Promise<HttpReply> {
  try {
    const response = await withRefusalNotice(fetch)(path, { ...init, signal: AbortSignal.timeout(waitMs) })
    return { ok: response.ok, status: response.status, text: await response.text() }
  } catch (cause) {
    throw new NoResponseError('The server does not answer.', { cause })
  }
}

/** One of the documents that anybody may read; `others` are states in which it is one too. */
export async function readJson<T>(path: string, otherStatuses: readonly number[] = []): Promise<T> {
  const { ok, status, text } = await request(path)
  if (!ok && !otherStatuses.includes(status)) throw new Error(`${path} answered ${status}.`)
  try {
    return JSON.parse(text) as T
  } catch {
    throw new Error(`${path} answered ${status} with something else than JSON.`)
  }
}
