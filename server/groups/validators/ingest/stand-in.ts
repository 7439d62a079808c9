// Validators of an epoch whose own state cannot be had, from those of the epochs before and after it. Where both agree about
// a validator, it was so in between as well; where they do not, nothing is guessed (decision 0102).
import type { Validators } from '#io/beacon/validators.ts'

/** Undefined when the two do not agree. Balances and scores change with every epoch and are not part of it. */
export function standIn(past: Validators, coming: Validators): Validators | undefined {
  if (past.count !== coming.count) return undefined
  const still = ['increments', 'slashed', 'activation', 'exit', 'withdrawable', 'eligible'] as const
  for (const name of still) {
    const [a, b] = [past[name], coming[name]]
    for (let index = 0; index < past.count; index++) if (a[index] !== b[index]) return undefined
  }
  return { ...past, scores: undefined }
}
