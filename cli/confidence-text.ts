// How sure an answer is and when there may be a better one, in words for the terminal: what the headers beside it say (behaviour/http.md#confidence-headers).
export interface ConfidenceInfo {
  readonly asOf?: number | string | undefined
  readonly finality?: string | undefined
  readonly coverage?: string | undefined
  readonly retryAfterMs?: number | undefined
}

/** undefined: nothing has to be said. */
export function confidenceText({ asOf, finality, coverage, retryAfterMs }: ConfidenceInfo): string | undefined {
  const parts = [
    coverage === undefined || coverage === 'complete' ? '' : (meanings[coverage] ?? `covered so far: ${coverage}`),
    finality === 'head' ? 'not final yet: a reorganisation of the chain may take it back' : '',
  ].filter(Boolean)
  if (parts.length > 0 && asOf !== undefined) parts.push(`as of ${asOf}`)
  if (retryAfterMs !== undefined) parts.push(`ask again in ${Math.ceil(retryAfterMs / 1000)} s`)
  return parts.length === 0 ? undefined : `${parts.join('; ')}.`
}

const meanings: Readonly<Record<string, string>> = {
  probed: 'probed: found by a search in an archive node, which does not see contracts that destroyed themselves',
}
