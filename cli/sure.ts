// How sure an answer is, in words for the terminal: what the headers beside it say (decision 0002).
export interface Sureness {
  readonly asOf?: number | string | undefined
  readonly finality?: string | undefined
  readonly coverage?: string | undefined
}

/** undefined: nothing has to be said. */
export function sureWords({ asOf, finality, coverage }: Sureness): string | undefined {
  const words = [
    coverage === undefined || coverage === 'complete' ? '' : (meanings[coverage] ?? `covered so far: ${coverage}`),
    finality === 'head' ? 'not final yet: a reorganisation of the chain may take it back' : '',
  ].filter(Boolean)
  if (words.length === 0) return undefined
  return `${words.join('; ')}${asOf === undefined ? '' : `; as of ${asOf}`}.`
}

const meanings: Readonly<Record<string, string>> = {
  probed: 'probed: proven by a node’s state and blocks',
  listed: 'listed: rests on what the node lists, too',
  looked: 'looked: a contract that came and went between two looks would not have been seen',
}
