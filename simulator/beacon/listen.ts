// The HTTP server of the simulated nodes: a free port, and request bodies of limited size.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from '#runtime/node-http.ts'

export interface SimulatedServer extends AsyncDisposable {
  readonly url: string
}

const bodyMax = 2 ** 20

/** `badRequestText`: the body of the 400 response to an invalid request. */
export async function startSimulatedServer(
  reply: (request: IncomingMessage, body: string, response: ServerResponse) => Promise<void>,
  badRequestText = '',
): Promise<SimulatedServer> {
  const server = createServer((request, response) => {
    // A GET has no body to wait for.
    const replied =
      request.method === 'GET'
        ? reply(request, '', response)
        : read(request).then((body) => reply(request, body, response))
    replied.catch(() => response.writeHead(400).end(badRequestText))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function read(request: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of request) {
    text += chunk
    if (text.length > bodyMax) throw new Error('the body is too long')
  }
  return text
}
