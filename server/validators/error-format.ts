// The error format of group C: `{"detail": …}` with one text, or with one entry per invalid parameter.
import type { FaultCode } from '#api/faults.ts'
import type { ValidatorsFailure } from '#api/wire/validators.ts'
import type { Fault, Problem } from '#core/fault.ts'
import type { ErrorFormat } from '#http/handler.ts'

/** Texts that existing clients match on. All other errors have the message of the fault. */
const knownTexts: Partial<Record<FaultCode, string>> = {
  'key.missing': 'Not authenticated',
  'key.invalid': 'Could not validate access token.',
  'key.throttled': 'Too many requests',
  'limit.second': 'Too many requests',
  'limit.day': 'Too many requests',
  'record.not_found': 'Not found.',
  'route.unknown': 'Not found.',
  'server.internal': 'Internal server error.',
}

const failure = (status: number, detail: ValidatorsFailure['detail']): { status: number; body: ValidatorsFailure } => ({
  status,
  body: { detail },
})

const toEntry = ({ at, message }: Problem) => ({ loc: [...at], msg: message, type: 'value_error' })

export const validatorsErrorFormat: ErrorFormat = {
  renderFault: (fault: Fault) =>
    failure(
      fault.status,
      fault.problems.length > 0 ? fault.problems.map(toEntry) : (knownTexts[fault.code] ?? fault.publicMessage),
    ),
  renderNotFound: () => failure(404, 'Not found.'),
}
