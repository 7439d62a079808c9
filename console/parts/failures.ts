// What a failure is about and how it reads: as a sentence for visitors, who know neither codes nor endpoints.
import { TetradError } from '#api/client.ts'
import { NoResponseError } from '../http.ts'
import { OperatorError } from '../operator.ts'

export const isSilence = (error: unknown): boolean =>
  error instanceof NoResponseError || (error instanceof TetradError && error.status === 0)

export const isNotFound = (error: unknown): boolean =>
  error instanceof TetradError ? error.notFound : error instanceof OperatorError && error.status === 404

/** Group A fails with status 200, so the words count too. */
export const isAboutKeys = (error: unknown): boolean =>
  error instanceof TetradError && (error.status === 401 || /api key/i.test(error.message))

/** The texts of the four interfaces for a call without a key. */
const missingKeyPattern = /Missing\/Invalid API Key|An API key is needed|Not authenticated/
const setKey = 'Set a key with the button at the side of the page.'
const noKey = 'This needs a key, and none is set yet.'
/** For pages that know it before they ask. */
export const noKeyYet = `${noKey} ${setKey}`
/** The server does not tell which of these it is. */
const refusedKey = 'The key of these pages is not accepted: it was mistyped, has expired or was revoked.'

/** The endpoint's name at the front and the code at the end are for developers. */
export function formatFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (isAboutKeys(error)) return missingKeyPattern.test(message) ? noKey : refusedKey
  const text = message.replace(/^[a-z]+\.[A-Za-z0-9]+: /, '').replace(/ \(code -?\d+\)/, '')
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

export function adviceOf(error: unknown): string {
  if (isSilence(error)) return 'Is the server still running?'
  if (!(error instanceof TetradError)) return ''
  if (isAboutKeys(error)) return setKey
  const id = error.requestId === undefined ? '' : `Request ${error.requestId}.`
  return error.retryable ? `Try again in a moment. ${id}` : id
}
