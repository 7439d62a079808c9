// Closes the HTTP server without failing requests that callers sent before (behaviour/operations.md#stopping).
//
// 1. Connections that the operating system has accepted are taken over before the server stops to listen.
// 2. The first request of a connection may still be on its way, so a connection without one is kept for some time. It is
//    counted by timer ticks, so that a busy process does not close it early.
// 3. Other connections are closed as soon as they are idle, and all of them after the timeout.
import type { Server } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { nextEventLoopTurn, systemClock } from '#runtime/clock.ts'
import type { App } from './pipeline.ts'

const tickMs = 50
/** 300 ms, which is more than a round trip takes nearly anywhere. */
const firstRequestTicks = 6
/** More than the operating system keeps for the server; Node asks for 511. */
const pendingMax = 1024

export function createCloser(
  server: Server,
  { context: { clock }, stopping, deadlines }: Pick<App, 'context' | 'stopping' | 'deadlines'>,
): (stopTimeoutMs: number) => Promise<void> {
  /** Connections without a request. */
  const unused = new Set<Socket>()
  let accepted = 0
  server.on('connection', (socket) => {
    accepted += 1
    unused.add(socket)
    socket.once('close', () => unused.delete(socket))
  })
  server.on('request', ({ socket }) => unused.delete(socket))

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
    for (let tick = 0; tick < firstRequestTicks && unused.size > 0; tick++) await systemClock.sleep(tickMs)
    // Clients keep connections alive that were busy when closing started.
    const sweep = clock.every(tickMs, () => server.closeIdleConnections())
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
