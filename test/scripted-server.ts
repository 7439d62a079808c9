// A small HTTP server with scripted responses that records requests, for the tests of the client.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface RecordedRequest {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface Scripted {
  readonly status?: number
  readonly headers?: Record<string, string>
  /** Strings are sent as they are, other values as JSON. `hang`: no response; `drop`: close the connection. */
  readonly body?: unknown
  readonly instead?: 'hang' | 'drop'
}

export interface ScriptedServer extends AsyncDisposable {
  readonly url: string
  readonly requests: RecordedRequest[]
}

/** The n-th request gets the n-th step; further requests get the last one. */
export async function serveScript(
  ...steps: (Scripted | ((requests: RecordedRequest) => Scripted))[]
): Promise<ScriptedServer> {
  const requests: RecordedRequest[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url = '', headers } = request
    requests.push({ method, url, headers, body })
    const step = steps[Math.min(requests.length, steps.length) - 1] ?? {}
    const scripted = typeof step === 'function' ? step(requests.at(-1) as RecordedRequest) : step
    if (scripted.instead === 'hang') return
    if (scripted.instead === 'drop') return void request.socket.destroy()
    response.writeHead(scripted.status ?? 200, { 'content-type': 'application/json', ...scripted.headers })
    response.end(typeof scripted.body === 'string' ? scripted.body : JSON.stringify(scripted.body ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
