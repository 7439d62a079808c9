// What time it is elsewhere: the Date header of whoever answers. Only the root of the address is asked, without anything
// that might be a credential, and every status will do.

/** Milliseconds by which the other clock is ahead of ours; undefined when it tells no time. Good to about a second. */
export async function clockLeadMs(address: string, timeoutMs: number): Promise<number | undefined> {
  const root = new URL('/', address)
  root.username = ''
  root.password = ''
  const startMs = Date.now()
  const response = await fetch(root, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
  const endMs = Date.now()
  const theirsMs = Date.parse(response.headers.get('date') ?? '')
  if (Number.isNaN(theirsMs)) return undefined
  // The header tells whole seconds: on average half a second more has passed.
  return theirsMs + 500 - (startMs + endMs) / 2
}
