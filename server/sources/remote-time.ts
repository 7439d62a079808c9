// Reads the clock of another server from the Date header of its response. Only the root path is requested, without
// credentials; the status does not matter.
import type { Clock } from '#runtime/clock.ts'
import { fetchHeader } from './http-client.ts'

/** The Unix time of the other clock in milliseconds, to about a second; undefined without a Date header. */
export async function readRemoteTime(address: string, timeoutMs: number): Promise<number | undefined> {
  const root = new URL('/', address)
  root.username = ''
  root.password = ''
  const atMs = Date.parse((await fetchHeader(root.href, 'date', { method: 'HEAD', timeoutMs })) ?? '')
  // The header has whole seconds, so the actual time is half a second later on average.
  return Number.isNaN(atMs) ? undefined : atMs + 500
}

/** Milliseconds by which the other clock is ahead. */
export async function clockLeadMs(
  clock: Pick<Clock, 'now'>,
  address: string,
  timeoutMs: number,
): Promise<number | undefined> {
  const startMs = clock.now()
  const theirsMs = await readRemoteTime(address, timeoutMs)
  return theirsMs === undefined ? undefined : theirsMs - (startMs + clock.now()) / 2
}
