// What the doctor says about one thing: how it is, and what to do about it.

export interface Diagnosis {
  readonly name: string
  /** `warn`: it works, but not as it should, or not for long. `bad`: answers are missing or wrong. */
  readonly level: 'ok' | 'warn' | 'bad'
  readonly says: string
  readonly todo?: string
}

export const well = (name: string, says: string): Diagnosis => ({ name, level: 'ok', says })
export const warn = (name: string, says: string, todo: string): Diagnosis => ({ name, level: 'warn', says, todo })
export const bad = (name: string, says: string, todo: string): Diagnosis => ({ name, level: 'bad', says, todo })

export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A part that breaks is a finding, not the end of the examination. */
export async function examined(
  name: string,
  todo: string,
  look: () => Promise<readonly Diagnosis[]>,
): Promise<readonly Diagnosis[]> {
  try {
    return await look()
  } catch (error) {
    return [bad(name, wordsOf(error), todo)]
  }
}
