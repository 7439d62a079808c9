// Reads the clock of another server from the Date header of its response. Only the root path is requested, without
// credentials; the status does not matter.

/** Milliseconds by which the other clock is ahead, to about a second; undefined without a Date header. */
export async function clockLeadMs(address: string, timeoutMs: number): Promise<number | undefined> {
  const root = new URL('/', address)
  root.username = ''
  root.password = ''
  const startMs = Date.now()
  const response = await fetch(root, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
  const endMs = Date.now()
  const theirsMs = Date.parse(response.headers.get('date') ?? '')
  if (Number.isNaN(theirsMs)) return undefined
  // The header has whole seconds, so the actual time is half a second later on average.
  return theirsMs + 500 - (startMs + endMs) / 2
}
