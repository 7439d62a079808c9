// In place of a page whose code did not come: because the server is gone, or because it has another version of the pages by
// now. Loading anew while it is gone would lose the frame too, so the server is asked first.
import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { readJson } from '../http.ts'

const everyMs = 2000
const reloadPage = () => window.location.reload()

export function Unloaded() {
  const alive = useQuery({
    queryKey: ['healthz'],
    queryFn: () => readJson<unknown>('/healthz'),
    refetchInterval: everyMs,
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
      <h1>Not loaded</h1>
      <div role="alert" className="note bad">
        {alive.isError
          ? 'The server does not answer, and this page has yet to be loaded from it. It is asked again by itself.'
          : 'This page could not be loaded; the server may have another version of it by now.'}
        <br />
        <button type="button" className="plain" onClick={() => (alive.isError ? void alive.refetch() : reloadPage())}>
          Try again
        </button>
      </div>
    </>
  )
}
