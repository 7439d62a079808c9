// What stands where an answer is on its way, or has not come.
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { adviceOf, isNothing, isSilence, wordsOf } from './failures.ts'
import { time } from './words.ts'

interface AnswerProps<T> {
  readonly of: UseQueryResult<T>
  readonly children: (data: T) => ReactNode
  /** Said while waiting. */
  readonly waiting?: string
  /** Said when there is no such record. */
  readonly nothing?: ReactNode
}

export function Answer<T>({ of, children, waiting = 'Asking…', nothing }: AnswerProps<T>) {
  if (of.data !== undefined)
    return (
      <>
        {of.error && <Old error={of.error} atMs={of.dataUpdatedAt} />}
        {children(of.data)}
      </>
    )
  if (of.error) return <Failure error={of.error} nothing={nothing} />
  return of.fetchStatus === 'idle' ? null : (
    <p className="busy" role="status">
      {waiting}
    </p>
  )
}

/** Above an answer that came once and did not come again. */
function Old({ error, atMs }: { readonly error: unknown; readonly atMs: number }) {
  const at = time(atMs / 1000)
  return (
    <div role="alert" className="note bad">
      <strong className="bad">{isSilence(error) ? `The server has not answered since ${at}.` : wordsOf(error)}</strong>{' '}
      What is shown is from {isSilence(error) ? 'then' : at}.
    </div>
  )
}

export function Failure({ error, nothing }: { readonly error: unknown; readonly nothing?: ReactNode }) {
  if (nothing !== undefined && isNothing(error)) return <div className="note">{nothing}</div>
  return (
    <div role="alert" className="note bad">
      {wordsOf(error)} <span className="soft">{adviceOf(error)}</span>
    </div>
  )
}
