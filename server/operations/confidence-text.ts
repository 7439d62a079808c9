// Describes the confidence headers of a response for the terminal (behaviour/http.md#confidence-headers).
export interface ConfidenceInfo {
  readonly asOf?: number | string | undefined
  readonly finality?: string | undefined
  readonly coverage?: string | undefined
  readonly retryAfterMs?: number | undefined
}

/** Undefined if the response is complete and final. */
export function confidenceText({ asOf, finality, coverage, retryAfterMs }: ConfidenceInfo): string | undefined {
  const parts = [
    coverage === undefined || coverage === 'complete'
      ? ''
      : (meanings[coverage] ?? `incomplete, covered so far: ${coverage}`),
    finality === 'head' ? 'not final: a chain reorganization may revert it' : '',
  ].filter(Boolean)
  if (parts.length > 0 && asOf !== undefined) parts.push(`as of ${asOf}`)
  if (retryAfterMs !== undefined) parts.push(`try again in ${Math.ceil(retryAfterMs / 1000)} s`)
  return parts.length === 0 ? undefined : `${parts.join('; ')}.`
}

const meanings: Readonly<Record<string, string>> = {
  probed: 'probed: found in an archive node; the search does not see contracts that self-destructed',
}
