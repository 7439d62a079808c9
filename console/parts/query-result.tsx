// Shows a query: its data, a loading text, or an error.
import type { UseQueryResult } from '@tanstack/preact-query'
import type { ReactNode } from 'preact/compat'
import { DemoKeyButton } from './demo.tsx'
import { adviceOf, formatFailure, isAboutKeys, isNoResponse, isNotFound } from './failures.ts'
import { formatTime } from './format.ts'

interface QueryResultProps<T> {
  readonly of: UseQueryResult<T>
  readonly children: (data: T) => ReactNode
  /** Text while loading. */
  readonly waiting?: string
  /** Text when the record does not exist. */
  readonly notFound?: ReactNode
  /** Shows an error. Default: its message with advice. */
  readonly failure?: (error: unknown) => ReactNode
}

export function QueryResult<T>({ of, children, waiting, notFound, failure }: QueryResultProps<T>) {
  if (of.data !== undefined)
    return (
      <>
        {of.error && <StaleNotice error={of.error} atMs={of.dataUpdatedAt} />}
        {children(of.data)}
      </>
    )
  if (of.error) return failure ? failure(of.error) : <Failure error={of.error} notFound={notFound} />
  return of.fetchStatus === 'idle' ? null : <Busy text={waiting} />
}

export const Busy = ({ text = 'Loading…' }: { readonly text?: string | undefined }) => (
  <p className="busy" role="status">
    {text}
  </p>
)

/** Above data that could not be refreshed. */
function StaleNotice({ error, atMs }: { readonly error: unknown; readonly atMs: number }) {
  const at = formatTime(atMs / 1000)
  return (
    <div role="alert" className="note bad">
      <strong className="bad">
        {isNoResponse(error) ? `The server has not responded since ${at}.` : formatFailure(error)}
      </strong>{' '}
      {isNoResponse(error) ? 'This page shows the data of that time.' : `This page shows the data of ${at}.`}
    </div>
  )
}

/** Text of the server in which commands are between backticks. */
const WithCode = ({ text }: { readonly text: string }) => (
  <>{text.split('`').map((part, index) => (index % 2 === 1 ? <code key={part}>{part}</code> : part))}</>
)

export function Failure({ error, notFound }: { readonly error: unknown; readonly notFound?: ReactNode }) {
  if (notFound !== undefined && isNotFound(error)) return <div className="note">{notFound}</div>
  return (
    <div role="alert" className={isAboutKeys(error) ? 'note warn' : 'note bad'}>
      <WithCode text={formatFailure(error)} /> <span className="soft">{adviceOf(error)}</span>{' '}
      {isAboutKeys(error) && <DemoKeyButton />}
    </div>
  )
}
