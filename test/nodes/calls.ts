// Requests to nodes and to Tetrad, without any code of Tetrad.

const timeoutMs = 60_000

export async function getJson<T>(base: string, path: string, body?: unknown, headers: object = {}): Promise<T> {
  const response = await fetch(base + path, {
    signal: AbortSignal.timeout(timeoutMs),
    headers: {
      accept: 'application/json',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${response.status} of ${path}: ${text.slice(0, 300)}`)
  return (text === '' ? undefined : JSON.parse(text)) as T
}

/** Undefined if the node does not have it. */
export const findJson = <T>(base: string, path: string): Promise<T | undefined> =>
  getJson<T>(base, path).catch((error: Error) => {
    if (error.message.startsWith('404')) return undefined
    throw error
  })

export async function rpc(url: string, method: string, params: readonly unknown[] = []): Promise<unknown> {
  const reply = await getJson<{ readonly result?: unknown; readonly error?: { readonly message: string } }>(url, '', {
    ...{ jsonrpc: '2.0', id: 1, method, params },
  })
  if (reply.error) throw new Error(`${method}: ${reply.error.message}`)
  return reply.result
}

/** Runs the work for all items, a few at a time, and keeps their order. */
export async function mapFew<In, Out>(items: readonly In[], work: (item: In) => Promise<Out>): Promise<Out[]> {
  const results: Out[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length) {
      const at = next++
      results[at] = await work(items[at] as In)
    }
  }
  await Promise.all(Array.from({ length: 4 }, worker))
  return results
}
