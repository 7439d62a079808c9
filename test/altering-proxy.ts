// An HTTP proxy that alters some responses of a node, for tests of how wrong responses are handled.
//   await using proxy = await openAlteringProxy(node.url)
//   proxy.alter(jsonAt(/\/validators$/, (data) => data.slice(1)))
//   proxy.alter()  // stops altering
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ProxiedResponse {
  readonly path: string
  readonly status: number
  readonly type: string
  readonly body: Buffer
}

/** Returns the altered body; undefined: send the original one. */
export type Alteration = (response: ProxiedResponse) => Buffer | undefined

export interface AlteringProxy extends AsyncDisposable {
  readonly url: string
  /** Without an argument: stops altering. */
  alter(change?: Alteration): void
  /** Number of altered responses so far. */
  count(): number
}

export async function openAlteringProxy(target: string, change?: Alteration): Promise<AlteringProxy> {
  let alteration = change
  let count = 0
  const server = createServer((request, response) => {
    void forward(target, request)
      .then(({ proxied, headers }) => {
        const altered = proxied.status === 200 ? alteration?.(proxied) : undefined
        if (altered) count += 1
        response.writeHead(proxied.status, headers).end(altered ?? proxied.body)
      })
      .catch(() => request.socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    alter(next) {
      alteration = next
    },
    count: () => count,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function forward(target: string, request: IncomingMessage) {
  const { method = 'GET', url: path = '/', headers } = request
  const sent = Buffer.concat(await request.toArray())
  const reply = await fetch(target + path, {
    method,
    headers: { accept: headers.accept ?? '*/*', 'content-type': headers['content-type'] ?? 'application/json' },
    ...(sent.length > 0 && { body: sent }),
  })
  const forwardedHeaders = ['content-type', 'eth-consensus-version'].flatMap((name) => {
    const value = reply.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  const proxied: ProxiedResponse = {
    path,
    status: reply.status,
    type: reply.headers.get('content-type') ?? '',
    body: Buffer.from(await reply.arrayBuffer()),
  }
  return { proxied, headers: Object.fromEntries(forwardedHeaders) }
}

/** Alters the `data` of JSON responses for these paths, in place or by returning a new value. */
export const jsonAt =
  <T>(path: RegExp, change: (data: T) => unknown): Alteration =>
  (response) => {
    if (!path.test(response.path) || !response.type.includes('json')) return undefined
    const body = JSON.parse(response.body.toString()) as { data: T }
    return Buffer.from(JSON.stringify({ ...body, data: change(body.data) ?? body.data }))
  }

/** Alters the bytes of SSZ responses for these paths in place. */
export const bytesAt =
  (path: RegExp, change: (bytes: Buffer) => void): Alteration =>
  (response) => {
    if (!path.test(response.path) || !response.type.includes('octet-stream')) return undefined
    change(response.body)
    return response.body
  }
