// A door for the operator's own commands, beside the one for callers: a socket in the data folder that only the owner of
// the folder may open (behaviour/operations.md#control-socket). A command asks the running server for what only it can do; where no server runs,
// the command does it itself.
//
// 1. The socket is made after the stores have been opened. Whoever owns those owns the folder, so a socket that is already
//    there was left behind, and is replaced.
// 2. One question a connection: POST /name with JSON, answered with JSON. Questions are small; answers may be large.
import { chmod, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'

const socketName = 'control.sock'
/** What the operating systems allow for a socket's path, with room to spare. */
const pathBytesMax = 100
const requestBytesMax = 65_536
const responseBytesMax = 64 * 1024 * 1024

export type ControlHandlers = Readonly<Record<string, (input: unknown) => Promise<unknown>>>

export interface ControlServer {
  close(): Promise<void>
}

/** What the server said instead of an answer. */
export class ControlError extends Error {
  override readonly name = 'ControlError'
}

/** Throws where such a socket cannot be made; a server can do without it. */
export async function startControlServer(dataDir: string, handlers: ControlHandlers): Promise<ControlServer> {
  const path = socketPath(dataDir)
  if (Buffer.byteLength(path) > pathBytesMax) {
    throw new Error(`${path} is too long for a socket; commands beside the server need a shorter data folder`)
  }
  await rm(path, { force: true })
  const server = createServer((incoming, outgoing) => void respond(handlers, incoming, outgoing))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    // Made for its owner from the first moment on: the call binds before it returns.
    const mask = process.umask(0o177)
    server.listen(path, resolve)
    process.umask(mask)
  })
  await chmod(path, 0o600)
  // The server does not live for its control socket's sake.
  server.unref()
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function respond(handlers: ControlHandlers, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const send = (status: number, body: object) => {
    outgoing.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
    outgoing.end(JSON.stringify(body))
  }
  try {
    const name = (incoming.url ?? '').slice(1)
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined
    if (incoming.method !== 'POST' || !handler) return send(404, { error: `this server cannot ${name}` })
    const text = await readText(incoming, requestBytesMax)
    send(200, { result: (await handler(text === '' ? undefined : JSON.parse(text))) ?? null })
  } catch (error) {
    send(500, { error: error instanceof Error ? error.message : String(error) })
  }
}

/** The server's answer; undefined when none runs on this folder. */
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
      else if (error.code === 'EACCES') reject(new ControlError(`${path} belongs to another user; ask as that user`))
      else reject(new ControlError(`the server behind ${path} did not answer (${error.message})`))
    })
    clientRequest.end(input === undefined ? '' : JSON.stringify(input))
  })
  if (!response) return undefined
  const body = JSON.parse(await readText(response, responseBytesMax)) as { result?: unknown; error?: string }
  if (response.statusCode !== 200) throw new ControlError(body.error ?? 'the server gave no reason')
  return { result: body.result }
}

/** Whether a server lives on this folder, also one that does not get round to answering. */
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

/** Nobody there, or only what a server that was killed has left. */
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
