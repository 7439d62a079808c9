// What stands where an answer is on its way, or has not come.
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { TetradError } from '#api/client.ts'
import { OperatorError } from '../operator.ts'

interface AnswerProps<T> {
  readonly of: UseQueryResult<T>
  readonly children: (data: T) => ReactNode
  /** Said while waiting. */
  readonly waiting?: string
  /** Said when there is no such record. */
  readonly nothing?: ReactNode
}

export function Answer<T>({ of, children, waiting = 'Asking…', nothing }: AnswerProps<T>) {
  if (of.data !== undefined) return children(of.data)
  if (of.error) return <Failure error={of.error} nothing={nothing} />
  return of.fetchStatus === 'idle' ? null : (
    <p className="busy" role="status">
      {waiting}
    </p>
  )
}

export function Failure({ error, nothing }: { readonly error: unknown; readonly nothing?: ReactNode }) {
  if (nothing !== undefined && error instanceof TetradError && error.notFound)
    return <div className="note">{nothing}</div>
  return (
    <div role="alert" className="note bad">
      {wordsOf(error)} <span className="soft">{adviceOf(error)}</span>
    </div>
  )
}

/** The endpoint's name at the front is for developers. */
const wordsOf = (error: unknown): string =>
  error instanceof Error ? error.message.replace(/^[a-z]+\.[A-Za-z0-9]+: /, '') : String(error)

function adviceOf(error: unknown): string {
  if (error instanceof OperatorError)
    return error.status === 401 ? 'Sign in with a link from the terminal: tetrad console link.' : ''
  if (!(error instanceof TetradError)) return ''
  if (error.status === 0) return 'Is the server still running?'
  if (isAboutKeys(error)) return 'Set a key with the button at the side of the page.'
  const id = error.requestId === undefined ? '' : `Request ${error.requestId}.`
  return error.retryable ? `Try again in a moment. ${id}` : id
}

/** Group A fails with status 200, so the words count too. */
const isAboutKeys = (error: TetradError): boolean => error.status === 401 || /api key/i.test(error.message)
