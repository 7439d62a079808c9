// How group C words its failures: `{"detail": …}`, one text, or one entry per parameter that is wrong.
import type { FaultCode } from '#api/faults.ts'
import type { ValidatorsFailure } from '#api/wire/validators.ts'
import type { Fault, Problem } from '#core/fault.ts'
import type { Shape } from '#serve/answer.ts'

/** Texts that existing clients know; all other failures say what the table of faults says. */
const texts: Partial<Record<FaultCode, string>> = {
  'key.missing': 'Not authenticated',
  'key.invalid': 'Could not validate access token.',
  'key.guarded': 'Too many requests',
  'limit.second': 'Too many requests',
  'limit.day': 'Too many requests',
  'record.unknown': 'Not found.',
  'route.unknown': 'Not found.',
  'server.internal': 'Internal server error.',
}

const failure = (status: number, detail: ValidatorsFailure['detail']): { status: number; body: ValidatorsFailure } => ({
  status,
  body: { detail },
})

const toEntry = ({ at, says }: Problem) => ({ loc: [...at], msg: says, type: 'value_error' })

export const shape: Shape = {
  fault: (fault: Fault) =>
    failure(fault.status, fault.problems.length > 0 ? fault.problems.map(toEntry) : (texts[fault.code] ?? fault.says)),
  nothing: () => failure(404, 'Not found.'),
}
