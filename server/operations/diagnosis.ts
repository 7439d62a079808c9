// What the doctor says about one thing: how it is, and what to do about it.

export interface DoctorFinding {
  readonly name: string
  /** `warn`: it works, but not as it should, or not for long. `bad`: answers are missing or wrong. */
  readonly level: 'ok' | 'warn' | 'bad'
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
export const badFinding = (name: string, message: string, todo: string): DoctorFinding => ({
  name,
  level: 'bad',
  message,
  todo,
})

export const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A part that breaks is a finding, not the end of the examination. */
export async function runCheck(
  name: string,
  todo: string,
  check: () => Promise<readonly DoctorFinding[]>,
): Promise<readonly DoctorFinding[]> {
  try {
    return await check()
  } catch (error) {
    return [badFinding(name, errorMessage(error), todo)]
  }
}
