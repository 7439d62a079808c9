// How a source is doing, in a word or two. Failures in a row are counted for those that are asked at fixed times; without
// them it is the kind of source that says what can be wrong: a node in trouble, rates that no quote rests on (stale, or far
// from the others), a feed that was not read to its end for too long.
import type { SourceView } from '#api/console.ts'

const otherwise: Readonly<Record<SourceView['kind'], string>> = { node: 'failing', rates: 'not used', feed: 'stale' }

export interface SourceState {
  readonly label: string
  readonly tone: 'good' | 'bad' | ''
}

export function stateOf({ ok, kind, failures }: Pick<SourceView, 'ok' | 'kind' | 'failures'>): SourceState {
  if (ok === null) return { label: 'not asked', tone: '' }
  if (ok) return { label: 'good', tone: 'good' }
  return { label: failures > 0 ? `failing ×${failures}` : otherwise[kind], tone: 'bad' }
}
