// The summary of a test run: what was covered, the costliest files, what was skipped, and all failures.
import type { Result } from './batch.ts'

const costliestCount = 10

const folderOf = (file: string): string => {
  const parts = file.split('/')
  return parts[0] === 'server' ? parts.slice(0, 2).join('/') : (parts[0] ?? file)
}

export function summaryOf(results: readonly Result[], leftOut: readonly string[]): string {
  const passed = results.filter(({ outcome }) => outcome === 'passed')
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  const skipped = results.filter(({ outcome }) => outcome === 'skipped')
  const unstable = results.filter(({ failedFirst }) => failedFirst !== undefined)
  const skippedLines = skipped.map(({ file, name, reason }) => `${file}: ${name} (${reason})`)
  const notRun = [...leftOut, ...skippedLines]
  return [
    'Covered:',
    ...coverage(passed),
    '',
    'Most CPU time:',
    ...costliest(results),
    ...(notRun.length > 0 ? ['', 'LEFT OUT:', ...notRun.map((line) => `  ${line}`)] : []),
    ...unstable.map(
      ({ file, name, failedFirst }) => `\nUNSTABLE, passed only alone: ${file}: ${name}\n${indent(failedFirst)}`,
    ),
    ...failed.map(({ file, name, reason }) => `\n✖ ${file}: ${name}\n${indent(reason)}`),
    '',
    `${passed.length} passed, ${failed.length} failed, ${skipped.length} skipped`,
    '',
  ].join('\n')
}

const indent = (text = ''): string => text.replaceAll(/^/gm, '    ')

/** What was not tested and why, in one line. Empty if everything was. */
export function notTestedLine(results: readonly Result[], leftOut: readonly string[]): string {
  const skipped = results.filter(({ outcome }) => outcome === 'skipped')
  const reasons = [...Map.groupBy(skipped, ({ reason = 'no reason' }) => reason)].map(
    ([reason, tests]) => `${tests.length} (${reason})`,
  )
  const parts = [...leftOut, ...reasons]
  return parts.length === 0 ? '' : `NOT TESTED: ${parts.join('; ')}\n`
}

const coverage = (passed: readonly Result[]): string[] =>
  [...Map.groupBy(passed, ({ file }) => folderOf(file))].sort().map(([folder, tests]) => {
    const files = new Set(tests.map(({ file }) => file)).size
    return `  ${folder.padEnd(28)} ${String(tests.length).padStart(4)} tests in ${files} files`
  })

const costliest = (results: readonly Result[]): string[] =>
  [...Map.groupBy(results, ({ file }) => file)]
    .map(([file, all]) => ({ file, ms: all.reduce((sum, { cpuMs = 0 }) => sum + cpuMs, 0) }))
    .sort((a, b) => b.ms - a.ms)
    .slice(0, costliestCount)
    .map(({ file, ms }) => `  ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`)
