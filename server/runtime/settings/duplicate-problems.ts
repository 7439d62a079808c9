// Reports names that are used twice in a list, which a schema cannot check.
import type { Problem } from '#core/fault.ts'

export const duplicateProblems = (
  names: readonly string[],
  at: readonly string[],
  member: string,
): readonly Problem[] =>
  names.flatMap((name, index) =>
    names.indexOf(name) < index ? [{ at: [...at, String(index), member], message: 'is used twice', value: name }] : [],
  )
