// A report for people; for machines it is JSON as it is.
import type { Report, Result } from './conform.ts'

const marks = { passed: 'ok  ', failed: 'FAIL', skipped: 'skip' } as const

export function lineOf({ id, rule, says, outcome, notes }: Result): string {
  const head = `${marks[outcome]}  ${id}  (${rule}) ${says}`
  return outcome === 'skipped'
    ? `${head}: ${notes.join('; ')}`
    : [head, ...notes.map((note) => `        ${note}`)].join('\n')
}

export function summaryOf({ conforms, passed, failed, skipped, results }: Report): string {
  const counts = `${passed} passed, ${failed} failed, ${skipped} left out`
  if (conforms) return `Conforms: ${counts}.`
  if (failed === 0) return `Nothing could be checked: ${counts}.`
  const ofSpec = results.filter(({ outcome, rule }) => outcome === 'failed' && rule.startsWith('spec ')).length
  const where =
    ofSpec === 0 ? 'none of them against the specification itself' : `${ofSpec} against the specification itself`
  return `Does not conform: ${counts}; ${where}.`
}
