// An HTTP proxy in front of a simulated source: it can refuse connections, fail, stay silent, be slow, or alter one answer.
//   await using gate = await openGate('chain', node.url)
//   gate.mode = 'silent'
import { Agent, createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answer } from './altered-answer.ts'

export const gateModes = ['closed', 'failing', 'silent', 'slow'] as const
export type GateMode = 'open' | (typeof gateModes)[number]

const slowMs = 100

/** Returns the altered answer; undefined: the answer stays. */
export type AlterAnswer = (question: string, answer: Answer) => Answer | undefined

export class Gate implements AsyncDisposable {
  mode: GateMode = 'open'
  alter: AlterAnswer | undefined
  /** Called with every request. */
  onRequest: (() => void) | undefined
  /** Requests without an answer yet. Silent ones do not count. */
  pending = 0
  requests = 0
  readonly #agent = new Agent({ keepAlive: true })
  readonly #target: URL
  readonly #server = createServer((request, response) => void this.#respond(request, response))

  constructor(target: string) {
    this.#target = new URL(target)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  /** Ends requests that were never answered. */
  set(mode: GateMode): void {
    this.mode = mode
    this.#server.closeAllConnections()
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.requests += 1
    this.onRequest?.()
    if (this.mode === 'closed') return void request.socket.destroy()
    if (this.mode === 'silent') return
    // A stream of events has no end.
    const isStream = request.url?.includes('/events') ?? false
    if (!isStream) this.pending += 1
    response.once('close', () => {
      if (!isStream) this.pending -= 1
    })
    try {
      const body = Buffer.concat(await request.toArray())
      if (this.mode === 'slow') await new Promise((resolve) => setTimeout(resolve, slowMs))
      if (this.mode === 'failing') return void response.writeHead(503).end('unavailable')
      await this.#forward(request, body, response, isStream)
    } catch {
      response.destroy()
    }
  }

  #forward(request: IncomingMessage, body: Buffer, response: ServerResponse, isStream: boolean): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const { hostname, port } = this.#target
    const { host: _, connection: __, ...headers } = request.headers
    const forwarded = send(
      { hostname, port, path: request.url, method: request.method, headers, agent: this.#agent },
      async (answer) => {
        const { 'content-length': _, 'transfer-encoding': __, connection: ___, ...sent } = answer.headers
        if (isStream) {
          response.writeHead(answer.statusCode ?? 0, sent)
          answer.pipe(response)
          response.once('close', () => answer.destroy())
          return resolve()
        }
        const bytes = Buffer.concat(await answer.toArray())
        const status = answer.statusCode ?? 0
        const type = sent['content-type'] ?? ''
        const original = { status, type, body: type.includes('octet-stream') ? bytes : bytes.toString() }
        const question = body.length > 0 ? body.toString() : (request.url ?? '/')
        const altered = status === 200 ? this.alter?.(question, original) : undefined
        if (altered === undefined) response.writeHead(status, sent).end(bytes)
        else response.writeHead(altered.status, { ...sent, 'content-type': altered.type }).end(altered.body)
        resolve()
      },
    )
    forwarded.once('error', reject)
    response.once('close', () => resolve())
    forwarded.end(body)
    return promise
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

export async function openGate(target: string): Promise<Gate> {
  const gate = new Gate(target)
  await gate.listen()
  return gate
}
