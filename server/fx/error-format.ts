// Error format of the FX group: a numeric code that clients can switch on, a message, and the invalid parameters
// (behaviour/fx.md#error-codes).
import type { FaultCode } from '#api/faults.ts'
import type { FxFailure } from '#api/wire/fx.ts'
import type { Fault, Problem } from '#core/fault.ts'
import type { ErrorFormat, RenderedError } from '#http/handler.ts'

/** Codes that are not derived from the status. */
const errorNumbers: Partial<Record<FaultCode, number>> = {
  'fx.amount_range': 3005,
  'fx.pair_unknown': 3008,
  'fx.rate_stale': 3010,
  'fx.rate_disputed': 3010,
}

function errorNumber(fault: Fault): number {
  const known = errorNumbers[fault.code]
  if (known !== undefined) return known
  if (fault.status === 400) return 2
  if (fault.status === 403) return 3
  return fault.status >= 500 ? -1 : fault.status
}

export const fxErrorFormat: ErrorFormat = {
  renderFault(fault): RenderedError {
    const body: FxFailure = { code: errorNumber(fault), message: fault.publicMessage }
    if (fault.problems.length > 0) body.errors = fault.problems.map(toError)
    return { status: fault.status, body }
  },
  renderNotFound: () => ({ status: 404, body: { code: 404, message: 'Not found.' } satisfies FxFailure }),
}

function toError({ at, message: problem, value }: Problem): NonNullable<FxFailure['errors']>[number] {
  const location = at.join('.')
  return {
    error: problem.startsWith('is required') ? 'required' : 'invalid',
    message: `${location} ${problem}`,
    location,
    ...(value !== undefined && { invalidValue: value }),
  }
}
