// A socket in the data folder over which commands call the running server (behaviour/operations.md#control-socket). Only
// the owner of the folder can open it. If no server runs, commands do the work themselves.
//
// 1. The socket is created after the databases are open, which only one process can do. So a socket that already exists
//    was left by a killed server and is replaced.
// 2. One call per connection: POST /name with JSON, answered with JSON. Inputs are small; results may be large.
import { existsSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { errorMessage } from '#core/error-message.ts'
import { Fault } from '#core/fault.ts'
import { createServer, request } from './node-http.ts'

const socketName = 'control.sock'
/** Slightly below the limit of operating systems. */
const pathBytesMax = 100
const requestBytesMax = 65_536
const responseBytesMax = 64 * 1024 * 1024

export type ControlHandlers = Readonly<Record<string, (input: unknown) => Promise<unknown>>>

/** The server reported an error, or could not be called. */
export class ControlError extends Error {
  override readonly name = 'ControlError'
}

/** Throws if the socket cannot be created. The server works without it. */
export async function startControlServer(dataDir: string, handlers: ControlHandlers) {
  const path = socketPath(dataDir)
  if (Buffer.byteLength(path) > pathBytesMax) {
    throw new Error(`the path ${path} is too long for a socket; use a shorter data folder`)
  }
  await rm(path, { force: true })
  const server = createServer((incoming, outgoing) => void respond(handlers, incoming, outgoing))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // `listen` binds before it returns, so the socket has these permissions from the start.
    const mask = process.umask(0o177)
    server.listen(path, resolve)
    process.umask(mask)
  })
  await chmod(path, 0o600)
  server.unref()
  return {
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function respond(handlers: ControlHandlers, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const send = (status: number, body: object) => {
    // Before the head: what cannot be written as JSON is reported.
    const text = JSON.stringify(body)
    outgoing.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(text)
  }
  try {
    const name = (incoming.url ?? '').slice(1)
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined
    if (incoming.method !== 'POST' || !handler)
      return send(404, { error: `this server does not support the call ${name}; it may be of another version` })
    const text = await readText(incoming, requestBytesMax)
    send(200, { result: (await handler(text === '' ? undefined : JSON.parse(text))) ?? null })
  } catch (error) {
    const text = errorMessage(error)
    send(500, { error: error instanceof Fault ? text.slice(`${error.code}: `.length) : text })
  }
}

/** The result of the server; undefined if no server runs on this folder. */
export async function callControl(
  dataDir: string,
  name: string,
  input?: unknown,
): Promise<{ readonly result: unknown } | undefined> {
  const path = socketPath(dataDir)
  if (Buffer.byteLength(path) > pathBytesMax) return undefined
  const response = await new Promise<IncomingMessage | undefined>((resolve, reject) => {
    const clientRequest = request({ socketPath: path, path: `/${name}`, method: 'POST', agent: false }, resolve)
    clientRequest.on('error', (error: NodeJS.ErrnoException) => {
      if (isServerGone(error)) resolve(undefined)
      else if (error.code === 'EACCES')
        reject(new ControlError(`${path} belongs to another user; run the command as that user`))
      else reject(new ControlError(`the server at ${path} did not respond (${error.message})`))
    })
    clientRequest.end(input === undefined ? '' : JSON.stringify(input))
  })
  if (!response) return undefined
  const body = JSON.parse(await readText(response, responseBytesMax)) as { result?: unknown; error?: string }
  if (response.statusCode !== 200)
    throw new ControlError(body.error ?? `the server returned status ${response.statusCode}`)
  return { result: body.result }
}

/** Whether a server runs on this folder, even if it does not respond. */
export async function isServerRunning(dataDir: string): Promise<boolean> {
  const path = socketPath(dataDir)
  if (Buffer.byteLength(path) > pathBytesMax) return false
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(!isServerGone(error)))
  })
}

/** Whether the last server on this folder was killed, and none runs now. A server that stops removes its socket. */
export const wasServerKilled = async (dataDir: string): Promise<boolean> =>
  existsSync(socketPath(dataDir)) && !(await isServerRunning(dataDir))

/** No socket, or one left by a killed server. */
const isServerGone = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  ['ENOENT', 'ECONNREFUSED', 'ENOTDIR'].includes(code)

const socketPath = (dataDir: string): string => join(dataDir, socketName)

async function readText(stream: IncomingMessage, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    if (bytes > bytesMax) throw new Error(`more than ${bytesMax} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}
