// A finding of the doctor: the state of one thing, and what to do about it.

export interface DoctorFinding {
  readonly name: string
  /** `warn`: works, but not as it should, or not for long. `fail`: responses are missing or wrong. */
  readonly level: 'ok' | 'warn' | 'fail'
  readonly message: string
  readonly todo?: string
}

export const okFinding = (name: string, message: string): DoctorFinding => ({ name, level: 'ok', message })
export const warnFinding = (name: string, message: string, todo: string): DoctorFinding => ({
  name,
  level: 'warn',
  message,
  todo,
})
export const failFinding = (name: string, message: string, todo: string): DoctorFinding => ({
  name,
  level: 'fail',
  message,
  todo,
})

export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A check that throws becomes a finding, so that the other checks still run. */
export async function runCheck(
  name: string,
  todo: string,
  check: () => Promise<readonly DoctorFinding[]>,
): Promise<readonly DoctorFinding[]> {
  try {
    return await check()
  } catch (error) {
    return [failFinding(name, errorMessage(error), todo)]
  }
}
