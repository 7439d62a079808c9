// A report for people; for machines it is JSON as it is.
import type { CheckResult, ConformanceReport } from './run-checks.ts'

const outcomeLabels = { passed: 'ok  ', failed: 'FAIL', skipped: 'skip' } as const

export function formatResult({ id, rule, message: requirement, outcome, notes }: CheckResult): string {
  const head = `${outcomeLabels[outcome]}  ${id}  (${rule}) ${requirement}`
  return outcome === 'skipped'
    ? `${head}: ${notes.join('; ')}`
    : [head, ...notes.map((note) => `        ${note}`)].join('\n')
}

export function summaryOf({ conforms, passed, failed, skipped, results }: ConformanceReport): string {
  const counts = `${passed} passed, ${failed} failed, ${skipped} left out`
  if (conforms) return `Conforms: ${counts}.`
  if (failed === 0) return `Nothing could be checked: ${counts}.`
  const ofSpec = results.filter(({ outcome, rule }) => outcome === 'failed' && rule.startsWith('spec ')).length
  const where =
    ofSpec === 0 ? 'none of them against the specification itself' : `${ofSpec} against the specification itself`
  return `Does not conform: ${counts}; ${where}.`
}
