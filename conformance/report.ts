// Formats the result of a check and the summary of a run for the terminal, and a whole run as a report to publish.
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

/** What a published report contains besides the results. It has no key. */
export interface ReportContext {
  /** Version of the suite. */
  readonly version: string
  /** URLs of the interfaces that were checked, by name. */
  readonly addresses: Readonly<Record<string, string>>
  /** Options that selected the checks, as they are written on the command line. */
  readonly options: readonly string[]
}

export const formatReportJson = (report: ConformanceReport, { version, addresses, options }: ReportContext): string =>
  `${JSON.stringify({ suite: { name: 'tetrad conformance', version }, addresses, options, ...report }, undefined, 2)}\n`

export function formatReportMarkdown(report: ConformanceReport, context: ReportContext): string {
  const { startedAt, endedAt, results, calls } = report
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  const about = [
    ['Suite', `tetrad conformance ${context.version}`],
    ['Started', startedAt],
    ['Ended', endedAt],
    ...Object.entries(context.addresses).map(([name, url]) => [`URL (${name})`, url]),
    ['Options', context.options.join(' ') || 'none'],
  ]
  return [
    '# Conformance report',
    summaryOf(report),
    formatTable(['', ''], about),
    ...(failed.length > 0 ? ['## Failed checks', failed.map(formatFailedCheck).join('\n')] : []),
    '## Checks',
    formatTable(
      ['check', 'result', 'rule', 'requirement'],
      results.map(({ id, outcome, rule, requirement, notes }) => [
        `\`${id}\``,
        outcome === 'skipped' ? `skipped: ${notes.join('; ')}` : outcome,
        rule,
        requirement,
      ]),
    ),
    '## Calls',
    formatTable(
      ['endpoint', 'request', 'number of requests'],
      calls.map(({ endpoint, method, path, requests }) => [
        `\`${endpoint}\``,
        `\`${method} ${path}\``,
        String(requests),
      ]),
    ),
    '',
  ].join('\n\n')
}

const formatFailedCheck = ({ id, rule, requirement, notes }: CheckResult): string =>
  [`- \`${id}\` (${rule}): ${requirement}`, ...notes.map((note) => `  - ${escapeMarkdown(note)}`)].join('\n')

const formatTable = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows.map((row) => row.map(escapeMarkdown))]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n')

/** Notes contain parts of responses, which must not end a table cell or become HTML. */
const escapeMarkdown = (text: string): string =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll(/\s+/g, ' ')
