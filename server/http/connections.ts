// The connections of the server: handles the requests of each one in turn, and limits the memory that is kept for callers
// that do not read their responses (behaviour/http.md#callers-that-do-not-read).
//
// 1. The next request of a connection starts when the operating system has taken the whole previous response. Node would
//    emit all requests that arrive in one piece at once, several thousand of them, and keep all responses in memory.
// 2. While a request waits, nothing more is read from its connection.
// 3. What is kept for all connections has a limit. When it is exceeded, the connection that has kept something for the
//    longest time is closed: that of a caller who reads is empty again soon.
// 4. Requests that have not arrived completely have another limit, because no key is needed to send a part of a request
//    line of 1.25 MiB. When it is exceeded, the connection whose request has been arriving for the longest time is closed.
//    Node does not report single parts, so this is checked from time to time.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Memory of a request that was received and waits. */
const waitingRequestBytes = 2048
/** Of all requests that have not arrived completely: 51 of the longest ones. */
export const unfinishedBytesMax = 64 * 1024 * 1024

export class Connections {
  readonly #keptBytesMax: number
  readonly #onClose: () => void
  readonly #all = new Map<Socket, Connection>()
  /** Connections whose request has not arrived completely. The one that began first is first. */
  readonly #unfinished = new Set<Connection>()
  /** Connections that keep something. The one that has kept something for the longest time is first. */
  readonly #keeping = new Set<Connection>()
  #keptBytes = 0

  /** `onClose` is called for each connection that is closed by rule 3. */
  constructor(keptBytesMax: number, onClose: () => void) {
    this.#keptBytesMax = keptBytesMax
    this.#onClose = onClose
  }

  /** Unsent bytes and waiting requests of all connections. */
  get keptBytes(): number {
    return this.#keptBytes
  }

  /** Handles the request when all earlier ones of its connection are done. */
  handleInTurn(handle: RequestListener, raw: IncomingMessage, response: ServerResponse): void {
    this.#find(raw.socket).handleInTurn(handle, raw, response)
  }

  /** Calls `end` when all requests of the connection are done. No more are read. */
  endInTurn(socket: Socket, end: () => void): void {
    this.#find(socket).endInTurn(end)
  }

  /** Reports how many bytes of a response are kept until the caller reads them. */
  keepUnsent(response: ServerResponse, bytes: number): void {
    if (response.socket) this.#all.get(response.socket)?.keepUnsent(response, bytes)
  }

  /** Rule 4. Returns how many connections were closed. */
  closeUnfinished(): number {
    let bytes = 0
    for (const connection of this.#all.values()) {
      const { unfinishedBytes } = connection
      bytes += unfinishedBytes
      if (unfinishedBytes > 0) this.#unfinished.add(connection)
      else this.#unfinished.delete(connection)
    }
    let closed = 0
    for (const connection of this.#unfinished) {
      if (bytes <= unfinishedBytesMax) break
      bytes -= connection.unfinishedBytes
      connection.close()
      closed += 1
    }
    return closed
  }

  /** Must be called for every new connection. */
  open(socket: Socket): void {
    this.#find(socket)
  }

  #find(socket: Socket): Connection {
    return this.#all.getOrInsertComputed(socket, () => {
      const connection = new Connection(socket, (changed, addedBytes) => this.#countKept(changed, addedBytes))
      socket.once('close', () => {
        this.#all.delete(socket)
        this.#unfinished.delete(connection)
      })
      return connection
    })
  }

  #countKept(connection: Connection, addedBytes: number): void {
    this.#keptBytes += addedBytes
    if (connection.keptBytes > 0) this.#keeping.add(connection)
    else this.#keeping.delete(connection)
    while (this.#keptBytes > this.#keptBytesMax) {
      const [longest] = this.#keeping
      longest?.close()
      this.#onClose()
    }
  }
}

type ReportKept = (connection: Connection, addedBytes: number) => void

interface RequestInTurn {
  readonly handle: RequestListener
  readonly raw: IncomingMessage
  readonly response: ServerResponse
}

class Connection {
  readonly #socket: Socket
  readonly #reportKept: ReportKept
  #waiting: RequestInTurn[] = []
  #current: RequestInTurn | undefined
  #isPaused = false
  #unsentBytes = 0
  #end: (() => void) | undefined
  /** How much had been received when the last request was complete. */
  #completeBytes = 0
  /** Unsent bytes and waiting requests. */
  keptBytes = 0

  constructor(socket: Socket, reportKept: ReportKept) {
    this.#socket = socket
    this.#reportKept = reportKept
    // Node resumes the socket for the body of each request.
    socket.on('resume', () => this.#isPaused && socket.pause())
  }

  /** Received of a request that has not arrived completely. */
  get unfinishedBytes(): number {
    if (this.#current?.raw.complete) this.#completeBytes = this.#socket.bytesRead
    return this.#socket.bytesRead - this.#completeBytes
  }

  handleInTurn(handle: RequestListener, raw: IncomingMessage, response: ServerResponse): void {
    const request = { handle, raw, response }
    if (!this.#current) return void this.#start(request)
    // Node goes on with what it has received.
    if (this.#socket.destroyed) return
    this.#waiting.push(request)
    this.#pause()
    this.#updateKept()
  }

  endInTurn(end: () => void): void {
    // The request that is being received cannot be answered any more.
    const isReceived = ({ raw }: RequestInTurn) => raw.complete
    if (!this.#current || !isReceived(this.#current)) return void end()
    this.#waiting = this.#waiting.filter(isReceived)
    this.#end ??= end
    this.#pause()
    this.#updateKept()
  }

  keepUnsent(response: ServerResponse, bytes: number): void {
    if (response !== this.#current?.response) return
    this.#unsentBytes = bytes
    this.#updateKept()
  }

  close(): void {
    this.#waiting = []
    this.#unsentBytes = 0
    this.#updateKept()
    this.#socket.destroy()
  }

  #start(request: RequestInTurn): void {
    const { handle, raw, response } = request
    this.#current = request
    response.on('close', this.#continue)
    handle(raw, response)
  }

  /** The response has been sent, or the connection is closed. */
  readonly #continue = (): void => {
    this.#current = undefined
    this.#completeBytes = this.#socket.bytesRead
    if (!this.#socket.writable) this.#waiting = []
    const next = this.#waiting.shift()
    this.#unsentBytes = 0
    this.#updateKept()
    if (!next) this.#end?.()
    // Until its end, a connection with an invalid request stays paused.
    if (this.#waiting.length === 0 && !(next && this.#end)) this.#resume()
    if (next) this.#start(next)
  }

  #updateKept(): void {
    const bytes = this.#unsentBytes + this.#waiting.length * waitingRequestBytes
    const addedBytes = bytes - this.keptBytes
    if (addedBytes === 0) return
    this.keptBytes = bytes
    this.#reportKept(this, addedBytes)
  }

  #pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }

  #resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#socket.resume()
  }
}
