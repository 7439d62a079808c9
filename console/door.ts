// How the pages ask for what is not behind the typed client: within a time, and with plain words when nobody answers.

/** The server gives each of its own parts five seconds. */
const waitMs = 10_000

export class NoAnswer extends Error {}

/** Sent to the window when a call was refused: whoever keeps the session asks whether it still stands. */
export const refusedEvent = 'tetrad-refused'
export const tellRefused = () => void window.dispatchEvent(new Event(refusedEvent))

export const heard =
  (call: typeof fetch): typeof fetch =>
  async (...request) => {
    const response = await call(...request)
    if (response.status === 401 || response.status === 403) tellRefused()
    return response
  }

export interface Said {
  readonly ok: boolean
  readonly status: number
  readonly text: string
}

export async function ask(path: string, init: RequestInit = {}): Promise<Said> {
  try {
    const response = await heard(fetch)(path, { ...init, signal: AbortSignal.timeout(waitMs) })
    return { ok: response.ok, status: response.status, text: await response.text() }
  } catch (cause) {
    throw new NoAnswer('The server does not answer.', { cause })
  }
}

/** One of the documents that anybody may read; `others` are states in which it is one too. */
export async function read<T>(path: string, others: readonly number[] = []): Promise<T> {
  const { ok, status, text } = await ask(path)
  if (!ok && !others.includes(status)) throw new Error(`${path} answered ${status}.`)
  try {
    return JSON.parse(text) as T
  } catch {
    throw new Error(`${path} answered ${status} with something else than JSON.`)
  }
}
