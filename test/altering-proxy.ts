// A proxy in front of an HTTP node that alters some of its answers, for tests of what is done about wrong ones.
//   await using proxy = await openAlteringProxy(node.url)
//   proxy.alter(jsonAt(/\/validators$/, (data) => data.slice(1)))
//   proxy.alter()  // the node's own answers again
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ProxiedResponse {
  readonly path: string
  readonly status: number
  readonly type: string
  readonly body: Buffer
}

/** The body to send instead; undefined: leave the answer as it is. */
export type Alteration = (answer: ProxiedResponse) => Buffer | undefined

export interface AlteringProxy extends AsyncDisposable {
  readonly url: string
  /** Without an argument: alters nothing from now on. */
  alter(change?: Alteration): void
  /** Answers that were altered so far. */
  count(): number
}

export async function openAlteringProxy(target: string, change?: Alteration): Promise<AlteringProxy> {
  let present = change
  let count = 0
  const server = createServer((request, response) => {
    void forward(target, request)
      .then(({ answer: proxied, headers }) => {
        const altered = proxied.status === 200 ? present?.(proxied) : undefined
        if (altered) count += 1
        response.writeHead(proxied.status, headers).end(altered ?? proxied.body)
      })
      .catch(() => request.socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    alter(next) {
      present = next
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
  const kept = ['content-type', 'eth-consensus-version'].flatMap((name) => {
    const value = reply.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  const answer: ProxiedResponse = {
    path,
    status: reply.status,
    type: reply.headers.get('content-type') ?? '',
    body: Buffer.from(await reply.arrayBuffer()),
  }
  return { answer, headers: Object.fromEntries(kept) }
}

/** Alters the `data` of JSON answers to these paths: in place, or by the value that is returned. */
export const jsonAt =
  <T>(path: RegExp, change: (data: T) => unknown): Alteration =>
  (answer) => {
    if (!path.test(answer.path) || !answer.type.includes('json')) return undefined
    const body = JSON.parse(answer.body.toString()) as { data: T }
    return Buffer.from(JSON.stringify({ ...body, data: change(body.data) ?? body.data }))
  }

/** Alters the bytes of SSZ answers to these paths, in place. */
export const bytesAt =
  (path: RegExp, change: (bytes: Buffer) => void): Alteration =>
  (answer) => {
    if (!path.test(answer.path) || !answer.type.includes('octet-stream')) return undefined
    change(answer.body)
    return answer.body
  }
