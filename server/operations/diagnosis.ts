// A finding of the doctor: the state of one thing, and what to do about it.
import { errorMessage } from '#core/error-message.ts'
import { Fault } from '#core/fault.ts'

export interface DoctorFinding {
  readonly name: string
  /** `warn`: works, but not as it should, or not for long. `fail`: responses are missing or wrong. */
  readonly level: 'ok' | 'warn' | 'fail'
  readonly message: string
  readonly todo?: string
}

export const okFinding = (name: string, message: string): DoctorFinding => ({ name, level: 'ok', message })
const createProblem =
  (level: 'warn' | 'fail') =>
  (name: string, message: string, todo: string): DoctorFinding => ({ name, level, message, todo })
export const warnFinding = createProblem('warn')
export const failFinding = createProblem('fail')

/** A check that throws becomes a finding, so that the other checks still run. */
export async function runCheck(
  name: string,
  todo: string,
  check: () => Promise<readonly DoctorFinding[]>,
): Promise<readonly DoctorFinding[]> {
  try {
    return await check()
  } catch (error) {
    // The code of a fault is for programs.
    return [failFinding(name, error instanceof Fault ? error.detail : errorMessage(error), todo)]
  }
}
