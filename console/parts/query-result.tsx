// What stands where an answer is on its way, or has not come.
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { adviceOf, formatFailure, isNotFound, isSilence } from './failures.ts'
import { formatTime } from './format.ts'

interface QueryResultProps<T> {
  readonly of: UseQueryResult<T>
  readonly children: (data: T) => ReactNode
  /** Said while waiting. */
  readonly waiting?: string
  /** Said when there is no such record. */
  readonly notFound?: ReactNode
}

export function QueryResult<T>({ of, children, waiting = 'Asking…', notFound }: QueryResultProps<T>) {
  if (of.data !== undefined)
    return (
      <>
        {of.error && <StaleNotice error={of.error} atMs={of.dataUpdatedAt} />}
        {children(of.data)}
      </>
    )
  if (of.error) return <Failure error={of.error} nothing={notFound} />
  return of.fetchStatus === 'idle' ? null : (
    <p className="busy" role="status">
      {waiting}
    </p>
  )
}

/** Above an answer that came once and did not come again. */
function StaleNotice({ error, atMs }: { readonly error: unknown; readonly atMs: number }) {
  const at = formatTime(atMs / 1000)
  return (
    <div role="alert" className="note bad">
      <strong className="bad">
        {isSilence(error) ? `The server has not answered since ${at}.` : formatFailure(error)}
      </strong>{' '}
      What is shown is from {isSilence(error) ? 'then' : at}.
    </div>
  )
}

export function Failure({ error, nothing: notFound }: { readonly error: unknown; readonly nothing?: ReactNode }) {
  if (notFound !== undefined && isNotFound(error)) return <div className="note">{notFound}</div>
  return (
    <div role="alert" className="note bad">
      {formatFailure(error)} <span className="soft">{adviceOf(error)}</span>
    </div>
  )
}
