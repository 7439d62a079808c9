// How group D words its failures: a kind and a sentence (behaviour/markets.md#errors).
import type { MarketsFailure } from '#api/wire/markets.ts'
import type { Fault } from '#core/fault.ts'
import type { ErrorFormat, RenderedError } from '#http/handler.ts'

export const marketsErrorFormat: ErrorFormat = {
  renderFault: (fault) => {
    if (fault.code === 'record.unknown') return slugNotFound
    if (fault.code === 'input.invalid') return failure(422, 'validation error', inputFailureText(fault))
    if (fault.code === 'server.internal') return failure(500, 'internal error', 'cannot get the information')
    return failure(fault.status, errorType(fault.status), fault.publicMessage)
  },
  renderNotFound: () => slugNotFound,
}

const failure = (status: number, type: string, error: string): RenderedError => ({
  status,
  body: { type, error } satisfies MarketsFailure,
})

const slugNotFound = failure(404, 'not found error', 'slug not found')

function errorType(status: number): string {
  if (status === 401 || status === 403) return 'authorization error'
  if (status === 404) return 'not found error'
  if (status === 429) return 'rate limit error'
  return status < 500 ? 'request error' : 'availability error'
}

/** The slug has fixed words (behaviour/markets.md#errors); of a list, the item at fault is shown. */
function inputFailureText({ problems: [problem], publicMessage: message }: Fault): string {
  if (!problem) return message
  const [, name, item] = problem.at
  if (name === 'slug') return 'slug is invalid'
  return item === undefined
    ? `${name} ${problem.message}`
    : `${name}: ${JSON.stringify(problem.value)} ${problem.message}`
}
