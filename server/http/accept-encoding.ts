// Selects the content encoding by the accept-encoding header (RFC 9110, 12.5.3). The header may be anything, so it is
// parsed in linear time, without regular expressions that backtrack.
//
// 1. Weight 0 forbids an encoding, `*` applies to encodings that are not listed, and others are not accepted.
// 2. The body is sent uncompressed if no encoding is accepted, or if `identity` has a higher weight.

/** The encoding of `offered`, best first, with the highest weight; undefined: uncompressed. */
export function encodingFor<E extends string>(header: string | undefined, offered: readonly E[]): E | undefined {
  if (header === undefined || header === '') return undefined
  const weights = weightsIn(header)
  const weightOf = (name: string): number => weights.get(name) ?? weights.get('*') ?? 0
  let best: E | undefined
  let weight = 0
  for (const encoding of offered) {
    if (weightOf(encoding) <= weight) continue
    best = encoding
    weight = weightOf(encoding)
  }
  return weight >= weightOf('identity') ? best : undefined
}

/** The weight of each name in an accept header. If a name is listed twice, the lower weight counts. */
export function weightsIn(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  const text = header.toLowerCase()
  for (let from = 0; from < text.length; ) {
    const comma = text.indexOf(',', from)
    const part = text.slice(from, comma < 0 ? text.length : comma)
    const end = part.indexOf(';')
    const name = (end < 0 ? part : part.slice(0, end)).trim()
    const encoding = name === 'x-gzip' ? 'gzip' : name
    const weight = end < 0 ? 1 : weightIn(part.slice(end + 1))
    weights.set(encoding, Math.min(weight, weights.get(encoding) ?? 1))
    from += part.length + 1
  }
  return weights
}

/** An invalid weight counts as 0. */
function weightIn(parameters: string): number {
  const parameter = parameters.split(';').find((text) => text.trimStart().startsWith('q='))
  if (parameter === undefined) return 1
  const weight = Number(parameter.slice(parameter.indexOf('=') + 1))
  return weight >= 0 && weight <= 1 ? weight : 0
}
