// Error format of the markets group: a type and a text (behaviour/markets.md#errors).
import type { MarketsFailure } from '#api/wire/markets.ts'
import type { Fault } from '#core/fault.ts'
import type { ErrorFormat, RenderedError } from '#http/handler.ts'

/** For endpoints that look a market up by this input. */
const errorFormatFor = (key: 'slug' | 'id'): ErrorFormat => ({
  renderFault: (fault) => {
    if (fault.code === 'record.not_found') return notFound(key)
    if (fault.code === 'input.invalid') return failure(422, 'validation error', inputFailureText(fault))
    if (fault.code === 'server.internal') return failure(500, 'internal error', 'cannot get the information')
    return failure(fault.status, errorType(fault.status), fault.publicMessage)
  },
  renderNotFound: () => notFound(key),
})

const failure = (status: number, type: string, error: string): RenderedError => ({
  status,
  body: { type, error } satisfies MarketsFailure,
})

const notFound = (key: string): RenderedError => failure(404, 'not found error', `${key} not found`)

export const marketsErrorFormat = errorFormatFor('slug')
export const marketByIdErrorFormat = errorFormatFor('id')

function errorType(status: number): string {
  if (status === 401 || status === 403) return 'authorization error'
  if (status === 404) return 'not found error'
  if (status === 429) return 'rate limit error'
  return status < 500 ? 'request error' : 'availability error'
}

/** Slug and id have a fixed text (behaviour/markets.md#errors); of a list, the item at fault is shown. */
function inputFailureText({ problems: [problem], publicMessage: message }: Fault): string {
  if (!problem) return message
  const [, name, item] = problem.at
  if (name === 'slug' || name === 'id') return `${name} is invalid`
  return item === undefined
    ? `${name} ${problem.message}`
    : `${name}: ${JSON.stringify(problem.value)} ${problem.message}`
}
