// A small HTTP server that answers by script, for the client's tests: it keeps what it was asked.
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Asked {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface Scripted {
  readonly status?: number
  readonly headers?: Record<string, string>
  /** Text is sent as it is, anything else as JSON. `hang`: no answer; `drop`: the connection is cut. */
  readonly body?: unknown
  readonly instead?: 'hang' | 'drop'
}

export interface ScriptedServer extends AsyncDisposable {
  readonly url: string
  readonly asked: Asked[]
}

/** Answers the n-th request with the n-th step; the last one stays. */
export async function serveScript(...steps: (Scripted | ((asked: Asked) => Scripted))[]): Promise<ScriptedServer> {
  const asked: Asked[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url = '', headers } = request
    asked.push({ method, url, headers, body })
    const step = steps[Math.min(asked.length, steps.length) - 1] ?? {}
    const said = typeof step === 'function' ? step(asked.at(-1) as Asked) : step
    if (said.instead === 'hang') return
    if (said.instead === 'drop') return void request.socket.destroy()
    response.writeHead(said.status ?? 200, { 'content-type': 'application/json', ...said.headers })
    response.end(typeof said.body === 'string' ? said.body : JSON.stringify(said.body ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
