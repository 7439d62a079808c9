// Shown when the code of a page could not be loaded: the server is down, or has a newer build of the console. It polls the
// server and reloads only when it is up, because a reload while it is down would lose the whole console.
import { useQuery } from '@tanstack/preact-query'
import { useEffect } from 'preact/compat'
import { readJson } from '../http.ts'

const pollMs = 2000
const reloadPage = () => window.location.reload()

export function PageNotLoaded() {
  const alive = useQuery({
    queryKey: ['healthz'],
    queryFn: () => readJson<unknown>('/healthz'),
    refetchInterval: pollMs,
    staleTime: 0,
    gcTime: 0,
  })
  // Not `isError`: a query without data is pending again during each retry.
  const wasDown = alive.errorUpdateCount > 0
  const isBack = alive.isSuccess && wasDown
  useEffect(() => {
    if (isBack) reloadPage()
  }, [isBack])
  if (isBack || (alive.isPending && !wasDown)) return <p className="busy">Loading…</p>
  return (
    <>
      <h1>Page not loaded</h1>
      <div role="alert" className="note bad">
        {wasDown
          ? 'This page could not be loaded because the server does not respond. The console retries automatically.'
          : 'This page could not be loaded. The server may have a newer version of the console: reload to get it.'}
        <br />
        <button type="button" className="plain" onClick={() => (wasDown ? void alive.refetch() : reloadPage())}>
          {wasDown ? 'Try again' : 'Reload'}
        </button>
      </div>
    </>
  )
}
