// How sure an answer is and when there may be a better one, in words for the terminal: what the headers beside it say (decision 0002).
export interface Sureness {
  readonly asOf?: number | string | undefined
  readonly finality?: string | undefined
  readonly coverage?: string | undefined
  readonly retryAfterMs?: number | undefined
}

/** undefined: nothing has to be said. */
export function sureWords({ asOf, finality, coverage, retryAfterMs }: Sureness): string | undefined {
  const words = [
    coverage === undefined || coverage === 'complete' ? '' : (meanings[coverage] ?? `covered so far: ${coverage}`),
    finality === 'head' ? 'not final yet: a reorganisation of the chain may take it back' : '',
  ].filter(Boolean)
  if (words.length > 0 && asOf !== undefined) words.push(`as of ${asOf}`)
  if (retryAfterMs !== undefined) words.push(`ask again in ${Math.ceil(retryAfterMs / 1000)} s`)
  return words.length === 0 ? undefined : `${words.join('; ')}.`
}

const meanings: Readonly<Record<string, string>> = {
  probed: 'probed: found by a search in an archive node, which does not see contracts that destroyed themselves',
}
