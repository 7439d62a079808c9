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
  const isBack = alive.isSuccess && alive.errorUpdateCount > 0
  useEffect(() => {
    if (isBack) reloadPage()
  }, [isBack])
  if (alive.isPending || isBack) return <p className="busy">Loading…</p>
  return (
    <>
      <h1>Page not loaded</h1>
      <div role="alert" className="note bad">
        {alive.isError
          ? 'This page could not be loaded because the server does not respond. The console retries automatically.'
          : 'This page could not be loaded. The server may have a newer version of the console: reload to get it.'}
        <br />
        <button type="button" className="plain" onClick={() => (alive.isError ? void alive.refetch() : reloadPage())}>
          {alive.isError ? 'Try again' : 'Reload'}
        </button>
      </div>
    </>
  )
}
