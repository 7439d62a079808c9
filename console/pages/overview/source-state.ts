// A short label for the status of a source. Failures in a row are counted only for sources that are polled. Without them
// the label depends on the kind: a node fails, rates are not used (stale or an outlier), a feed was not read completely.
import type { SourceView } from '#api/console.ts'

const labelsWithoutFailures: Readonly<Record<SourceView['kind'], string>> = {
  node: 'failing',
  rates: 'not used',
  feed: 'stale',
}

export function stateOf({ ok, kind, failures }: Pick<SourceView, 'ok' | 'kind' | 'failures'>) {
  if (ok === null) return { label: 'not used yet', tone: '' }
  if (ok) return { label: 'healthy', tone: 'good' }
  return { label: failures > 0 ? `failing ×${failures}` : labelsWithoutFailures[kind], tone: 'bad' }
}
