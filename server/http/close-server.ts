// Closes the HTTP server without failing requests that callers sent before (behaviour/operations.md#stopping).
//
// 1. Connections that the operating system has accepted are taken over before the server stops to listen.
// 2. The first request of a connection may still be on its way, so a new connection is kept for some time without one.
// 3. Other connections are closed as soon as they are idle, and all of them after the timeout.
import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { App } from './pipeline.ts'

/** More than a round trip takes nearly anywhere. */
const firstRequestMs = 300
const idleSweepMs = 50
/** More than the operating system keeps for the server; Node asks for 511. */
const pendingMax = 1024

export function createCloser(
  server: Server,
  { context: { clock }, stopping, deadlines }: Pick<App, 'context' | 'stopping' | 'deadlines'>,
): (stopTimeoutMs: number) => Promise<void> {
  /** Connections without a request, and when they were opened. */
  const unused = new Map<Socket, number>()
  let accepted = 0
  server.on('connection', (socket) => {
    accepted += 1
    unused.set(socket, clock.monotonicMs())
    socket.once('close', () => unused.delete(socket))
  })
  server.on('request', ({ socket }) => unused.delete(socket))

  const expectsRequest = (): boolean => {
    const sinceMs = clock.monotonicMs() - firstRequestMs
    return unused.values().some((openedMs) => openedMs > sinceMs)
  }

  /** Node accepts one connection in each turn of the event loop. */
  async function acceptPending(): Promise<void> {
    for (let count = 0; count < pendingMax; count++) {
      const before = accepted
      // The second turn begins by accepting a connection.
      await nextEventLoopTurn()
      await nextEventLoopTurn()
      if (accepted === before) return
    }
  }

  return async (stopTimeoutMs) => {
    const cut = new AbortController()
    const late = clock.sleep(stopTimeoutMs, cut.signal).then(() => {
      if (!cut.signal.aborted) server.closeAllConnections()
    })
    stopping.abort()
    await acceptPending()
    // The method of the HTTP server would close connections that expect a request.
    const closed = new Promise<void>((resolve) => void NetServer.prototype.close.call(server, () => resolve()))
    while (expectsRequest()) await clock.sleep(idleSweepMs)
    // Clients keep connections alive that were busy when closing started.
    const sweep = clock.every(idleSweepMs, () => server.closeIdleConnections())
    server.closeIdleConnections()
    await closed
    sweep()
    // Ends the timer that looks for slow requests.
    server.close()
    cut.abort()
    await late
    deadlines.close()
  }
}
