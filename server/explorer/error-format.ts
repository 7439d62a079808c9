// The error format of group A. Existing clients match on these texts, so they must not change.

import type { FaultCode } from '#api/faults.ts'
import { plans } from '#api/routes.ts'
import type { ExplorerFailure } from '#api/wire/explorer.ts'
import type { Fault } from '#core/fault.ts'
import type { ErrorFormat } from '#http/handler.ts'

/** All other errors have status 200 (behaviour/explorer.md#error-responses). */
const keepsStatus: ReadonlySet<FaultCode> = new Set([
  'route.unknown',
  'route.method',
  'route.disabled',
  'explorer.link',
])

export const explorerErrorFormat: ErrorFormat = {
  renderFault: (fault) => {
    if (fault.code === 'record.not_found') return explorerErrorFormat.renderNotFound()
    return { status: keepsStatus.has(fault.code) ? fault.status : 200, body: failure('NOTOK', failureText(fault)) }
  },
  renderNotFound: () => ({ status: 200, body: failure('No data found', []) }),
}

const failure = (message: string, result: ExplorerFailure['result']): ExplorerFailure => ({
  status: '0',
  message,
  result,
})

function failureText(fault: Fault): string {
  switch (fault.code) {
    case 'key.missing':
      return 'Missing/Invalid API Key'
    case 'key.invalid':
      return 'Invalid API Key'
    case 'key.throttled':
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
      return inputFailureText(fault)
    default:
      return fault.publicMessage
  }
}

function inputFailureText(fault: Fault): string {
  const [first] = fault.problems
  if (!first) return fault.publicMessage
  const name = first.at.at(-1)
  return name === 'address' ? 'Error! Invalid address format' : `Error! ${name} ${first.message}`
}
