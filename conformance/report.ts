// Formats the result of a check and the summary of a run for the terminal.
import type { CheckResult, ConformanceReport } from './run-checks.ts'

const outcomeLabels = { passed: 'ok  ', failed: 'FAIL', skipped: 'skip' } as const

export function formatResult({ id, rule, requirement, outcome, notes }: CheckResult): string {
  const head = `${outcomeLabels[outcome]}  ${id}  (${rule}) ${requirement}`
  return outcome === 'skipped'
    ? `${head}: ${notes.join('; ')}`
    : [head, ...notes.map((note) => `        ${note}`)].join('\n')
}

export function summaryOf({ conforms, passed, failed, skipped, results }: ConformanceReport): string {
  const counts = `${passed} passed, ${failed} failed, ${skipped} skipped`
  if (conforms) return `Conforms: ${counts}.`
  if (failed === 0) return `Nothing could be checked: ${counts}.`
  const againstSpec = results.filter(({ outcome, rule }) => outcome === 'failed' && rule.startsWith('spec ')).length
  const severity =
    againstSpec === 0 ? 'none of them concerns the specification' : `${againstSpec} of them against the specification`
  return `Does not conform: ${counts}; ${severity}.`
}
