// How group D words its failures: a kind and a sentence (decision 0045).
import type { MarketsFailure } from '#api/wire/markets.ts'
import type { Fault } from '#core/fault.ts'
import type { Rendered, Shape } from '#serve/answer.ts'

export const shape: Shape = {
  fault: (fault) => {
    if (fault.code === 'record.unknown') return slugNotFound
    if (fault.code === 'input.invalid') return failure(422, 'validation error', aboutInput(fault))
    if (fault.code === 'server.internal') return failure(500, 'internal error', 'cannot get the information')
    return failure(fault.status, typeOf(fault.status), fault.says)
  },
  nothing: () => slugNotFound,
}

const failure = (status: number, type: string, error: string): Rendered => ({
  status,
  body: { type, error } satisfies MarketsFailure,
})

const slugNotFound = failure(404, 'not found error', 'slug not found')

function typeOf(status: number): string {
  if (status === 401 || status === 403) return 'authorization error'
  if (status === 404) return 'not found error'
  if (status === 429) return 'rate limit error'
  return status < 500 ? 'request error' : 'availability error'
}

/** The slug has fixed words (decision 0045); of a list, the item at fault is shown. */
function aboutInput({ problems: [problem], says }: Fault): string {
  if (!problem) return says
  const [, name, item] = problem.at
  if (name === 'slug') return 'slug is invalid'
  return item === undefined ? `${name} ${problem.says}` : `${name}: ${JSON.stringify(problem.value)} ${problem.says}`
}
