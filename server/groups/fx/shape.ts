// How group B words its failures: a number that clients switch on, a sentence, and the parameters at fault
// (decision 0025).
import type { FaultCode } from '#api/faults.ts'
import type { FxFailure } from '#api/wire/fx.ts'
import type { Fault, Problem } from '#core/fault.ts'
import type { Rendered, Shape } from '#serve/answer.ts'

/** Numbers that do not follow from the status. */
const numbers: Partial<Record<FaultCode, number>> = {
  'fx.amount_range': 3005,
  'fx.pair_unknown': 3008,
  'fx.rate_stale': 3010,
  'fx.rate_disputed': 3010,
}

function numberOf(fault: Fault): number {
  const known = numbers[fault.code]
  if (known !== undefined) return known
  if (fault.status === 400) return 2
  if (fault.status === 403) return 3
  return fault.status >= 500 ? -1 : fault.status
}

export const shape: Shape = {
  fault(fault): Rendered {
    const body: FxFailure = { code: numberOf(fault), message: fault.says }
    if (fault.problems.length > 0) body.errors = fault.problems.map(toError)
    return { status: fault.status, body }
  },
  nothing: () => ({ status: 404, body: { code: 404, message: 'Not found.' } satisfies FxFailure }),
}

function toError({ at, says, value }: Problem): NonNullable<FxFailure['errors']>[number] {
  const location = at.join('.')
  return {
    error: says.startsWith('is required') ? 'required' : 'invalid',
    message: `${location} ${says}`,
    location,
    ...(value !== undefined && { invalidValue: value }),
  }
}
