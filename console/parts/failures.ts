// Turns an error of a call into a message and advice for people who do not know error codes and endpoint ids.
import { TetradError } from '#api/client/client.ts'
import { NoResponseError } from '../http.ts'
import { OperatorError } from '../operator.ts'

export const isNoResponse = (error: unknown): boolean =>
  error instanceof NoResponseError || (error instanceof TetradError && error.status === 0)

export const isNotFound = (error: unknown): boolean =>
  error instanceof TetradError ? error.notFound : error instanceof OperatorError && error.status === 404

/** The explorer interface reports errors with status 200, so the message counts too. */
export const isAboutKeys = (error: unknown): boolean =>
  error instanceof OperatorError
    ? error.code === 'key.missing' || error.code === 'key.invalid'
    : error instanceof TetradError && (error.status === 401 || /api key/i.test(error.message))

/** The texts of the four interfaces for a call without a key. */
const missingKeyPattern = /Missing\/Invalid API Key|An API key is required|Not authenticated/
const setKey = 'Set a key with the key button in the menu.'
const noKey = 'This needs an API key, and none is set.'
/** For pages that know it before they call. */
export const noKeyYet = `${noKey} ${setKey}`
/** The server does not report which of these it is. */
const rejectedKey = 'The server rejected the API key: it is mistyped, expired or revoked.'

/** The client's message about a response that is not from this server. A visitor cannot change the base URL. */
const proxyFailure = /HTTP (\d+) without the expected body; check the base URL/

/** The message without the endpoint id at its start and the error code at its end. */
export function formatFailure(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  if (isAboutKeys(error)) return missingKeyPattern.test(message) ? noKey : rejectedKey
  const text = message
    .replace(/^[a-z]+\.[A-Za-z0-9]+: /, '')
    .replace(/ \(code -?\d+\)/, '')
    .replace(proxyFailure, 'The server, or a proxy in front of it, failed with status $1')
    .replace(/\b(?:path|query|body|header)\.([\w.-]+):?/g, (_, name: string) => parameterWords(name))
  return /[.!?…]$/.test(text) ? text : `${text}.`
}

/** Parameters whose names say little to people who do not call the API. */
const parameterTexts: Readonly<Record<string, string>> = {
  validator_index_or_pubkey: 'The validator index or public key',
}

/** `body.recipientAddress` is `The recipient address`. */
const parameterWords = (name: string): string =>
  parameterTexts[name] ??
  `The ${name.replace(/([a-z\d])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`).replaceAll(/[_.-]+/g, ' ')}`

export function adviceOf(error: unknown): string {
  if (isNoResponse(error)) return 'Check that the server is running.'
  if (isAboutKeys(error)) return setKey
  if (!(error instanceof TetradError)) return ''
  const id = error.requestId === undefined ? '' : `Request id: ${error.requestId}.`
  return error.retryable ? `Try again in a moment. ${id}` : id
}
