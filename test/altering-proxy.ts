// An HTTP proxy that alters some responses of a node, for tests of how wrong responses are handled.
//   await using proxy = await openAlteringProxy(node.url)
//   proxy.alter(jsonAt(/\/validators$/, (data) => data.slice(1)))
//   proxy.alter()  // stops altering
// A source that a test computes itself needs no proxy:
//   await using source = await serveAnswers(({ path, sent }) => ({ body }))
//   source.alterer = new AnswerAlterer(draws, 7)
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Answer, AnswerAlterer } from './altered-answer.ts'

export interface ProxiedResponse {
  readonly path: string
  /** The body of the request. */
  readonly sent: string
  readonly status: number
  readonly type: string
  readonly body: Buffer
}

/** Returns the altered body; undefined: send the original one. */
export type Alteration = (response: ProxiedResponse) => Buffer | undefined

/** Returns the whole response. */
export type ResponseAlteration = (response: ProxiedResponse) => Answer

export interface AlteringProxy extends AsyncDisposable {
  readonly url: string
  /** Without an argument: stops altering. */
  alter(change?: Alteration | ResponseAlteration): void
  /** Number of altered responses so far. */
  count(): number
}

export async function openAlteringProxy(target: string, change?: Alteration): Promise<AlteringProxy> {
  let alteration: Alteration | ResponseAlteration | undefined = change
  let count = 0
  const server = createServer((request, response) => {
    void forward(target, request)
      .then(({ proxied, headers }) => {
        const altered = proxied.status === 200 ? alteration?.(proxied) : undefined
        if (altered) count += 1
        if (altered && 'status' in altered) return void sendAnswer(response, altered, headers)
        response.writeHead(proxied.status, headers).end(altered ?? proxied.body)
      })
      .catch(() => request.socket.destroy())
  })
  return {
    ...(await listen(server)),
    alter(next) {
      alteration = next
    },
    count: () => count,
  }
}

async function listen(server: Server): Promise<AsyncDisposable & { readonly url: string }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function sendAnswer(response: ServerResponse, answer: Answer, headers: object = {}): void {
  const { status, type, body, delayMs = 0 } = answer
  const send = () => response.writeHead(status, { ...headers, ...answer.headers, 'content-type': type }).end(body)
  if (delayMs > 0) setTimeout(send, delayMs)
  else send()
}

/** JSON-RPC names the method in the body; for other requests, the path is part of the question. */
const questionOf = (path: string, sent: string): string =>
  sent.includes('"jsonrpc"') ? sent : sent === '' ? path : `${path} ${sent}`

/** Alters one answer of the source behind the proxy. */
export const alterBy =
  (alterer: AnswerAlterer): ResponseAlteration =>
  ({ path, sent, status, type, body }) =>
    alterer.next(questionOf(path, sent), {
      ...{ status, type },
      body: type.includes('octet-stream') ? body : body.toString(),
    })

export interface AnswerServer extends AsyncDisposable {
  readonly url: string
  /** Alters one of the answers. */
  alterer: AnswerAlterer | undefined
}

export interface AnswerRequest {
  readonly path: string
  /** The body of the request. */
  readonly sent: string
  readonly accept: string
}

type ComputedAnswer = Partial<Answer> & Pick<Answer, 'body'>

/** Serves computed answers. `type` is application/json unless the answer has another one. */
export async function serveAnswers(
  answerOf: (request: AnswerRequest) => ComputedAnswer | Promise<ComputedAnswer>,
): Promise<AnswerServer> {
  const server = createServer(async (request, response) => {
    const sent = Buffer.concat(await request.toArray()).toString()
    const path = request.url ?? '/'
    const accept = request.headers.accept ?? ''
    const answer: Answer = { status: 200, type: 'application/json', ...(await answerOf({ path, sent, accept })) }
    sendAnswer(response, answers.alterer?.next(questionOf(path, sent), answer) ?? answer)
  })
  const answers: AnswerServer = { ...(await listen(server)), alterer: undefined }
  return answers
}

async function forward(target: string, received: IncomingMessage) {
  const { method = 'GET', url: path = '/', headers } = received
  const { accept = '*/*', 'content-type': contentType = 'application/json' } = headers
  const sent = method === 'GET' ? Buffer.alloc(0) : await bodyOf(received)
  // `fetch` takes several times the CPU time.
  const reply = await new Promise<IncomingMessage>((resolve, reject) => {
    const forwarded = request(target + path, { method, headers: { accept, 'content-type': contentType } }, resolve)
    forwarded.on('error', reject).end(sent)
  })
  const { 'content-type': type = '', 'eth-consensus-version': version } = reply.headers
  const status = reply.statusCode ?? 0
  const proxied: ProxiedResponse = { path, sent: sent.toString(), status, type, body: await bodyOf(reply) }
  return {
    proxied,
    headers: { ...(type && { 'content-type': type }), ...(version && { 'eth-consensus-version': version }) },
  }
}

const bodyOf = (message: IncomingMessage): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    message.on('data', (chunk: Buffer) => chunks.push(chunk))
    message.on('end', () => resolve(Buffer.concat(chunks)))
    message.on('error', reject)
  })

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
