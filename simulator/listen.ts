// The HTTP server of simulated nodes and feeds: a free port, and request bodies of limited size.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from '#runtime/node-http.ts'

export interface SimulatedServer extends AsyncDisposable {
  readonly url: string
  close(): Promise<void>
}

const bodyMax = 2 ** 20
/** By default 5 s, after which a client that had to wait for the CPU may send a request into a closing connection. */
const keepAliveTimeoutMs = 120_000

/** `badRequestText`: the body of the 400 response to an invalid request. */
export async function startSimulatedServer(
  reply: (request: IncomingMessage, body: string, response: ServerResponse) => void | Promise<void>,
  badRequestText = '',
): Promise<SimulatedServer> {
  const server = createServer((request, response) => {
    // A GET has no body to wait for.
    const replied =
      request.method === 'GET'
        ? reply(request, '', response)
        : read(request).then((body) => reply(request, body, response))
    replied?.catch(() => response.writeHead(400).end(badRequestText))
  })
  server.keepAliveTimeout = keepAliveTimeoutMs
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close, [Symbol.asyncDispose]: close }
}

export function sendJson(response: ServerResponse, status: number, body: string, headers: object = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}

async function read(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) {
    text += chunk
    if (text.length > bodyMax) throw new Error('the body is too long')
  }
  return text
}
