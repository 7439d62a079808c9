// How group A words its failures. Existing clients match on these texts, so they are kept letter for letter.

import type { FaultCode } from '#api/faults.ts'
import { plans } from '#api/routes.ts'
import type { ExplorerFailure } from '#api/wire/explorer.ts'
import type { Fault } from '#core/fault.ts'
import type { Shape } from '#serve/answer.ts'

/** A failure keeps HTTP 200, except where no endpoint of the group was reached at all (decision 0016). */
const keepsStatus: ReadonlySet<FaultCode> = new Set(['route.unknown', 'route.method', 'route.off', 'explorer.link'])

export const shape: Shape = {
  fault: (fault) => {
    if (fault.code === 'record.unknown') return shape.nothing()
    return { status: keepsStatus.has(fault.code) ? fault.status : 200, body: failure('NOTOK', words(fault)) }
  },
  nothing: () => ({ status: 200, body: failure('No data found', []) }),
}

const failure = (message: string, result: ExplorerFailure['result']): ExplorerFailure => ({
  status: '0',
  message,
  result,
})

function words(fault: Fault): string {
  switch (fault.code) {
    case 'key.missing':
      return 'Missing/Invalid API Key'
    case 'key.invalid':
      return 'Invalid API Key'
    case 'key.guarded':
      return 'Too many invalid api key attempts, please try again later'
    case 'limit.second':
      return `Max calls per sec rate limit reached (${fault.terms.limit}/sec)`
    case 'limit.day':
      return 'Max daily rate limit reached'
    case 'explorer.module':
      return 'Error! Missing Or invalid Module name'
    case 'explorer.action':
      return 'Error! Missing Or invalid Action name'
    case 'explorer.chain_unsupported':
      return 'Missing or unsupported chainid parameter'
    case 'plan.too_low':
      return `This endpoint needs the ${fault.terms.plan} plan${fault.terms.plan === plans.at(-1) ? '' : ' or a higher one'}`
    case 'input.invalid':
      return aboutInput(fault)
    default:
      return fault.says
  }
}

function aboutInput(fault: Fault): string {
  const [first] = fault.problems
  if (!first) return fault.says
  const name = first.at.at(-1)
  return name === 'address' ? 'Error! Invalid address format' : `Error! ${name} ${first.says}`
}
