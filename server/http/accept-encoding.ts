// Which form of the bytes a caller takes, by its accept-encoding (RFC 9110, 12.5.3). The header is whatever somebody sends,
// so it is read in one pass, without a pattern that could go back over it.
//
// 1. Weight zero forbids, `*` counts for whatever is not named, and what is neither named nor covered is not taken.
// 2. Plain bytes are the last resort: they go out where nothing else is taken, or where they are weighed higher.

/** The one of `offered`, best first, that the caller weighs highest; undefined: plain bytes. */
export function encodingFor<E extends string>(header: string | undefined, offered: readonly E[]): E | undefined {
  if (header === undefined || header === '') return undefined
  const weights = weightsIn(header)
  const weightOf = (name: string): number => weights.get(name) ?? weights.get('*') ?? 0
  let best: E | undefined
  let weight = 0
  for (const one of offered) {
    const its = weightOf(one)
    if (its <= weight) continue
    best = one
    weight = its
  }
  return weight >= weightOf('identity') ? best : undefined
}

/** Of a name that stands there twice the lower weight counts, so that a refusal holds. */
function weightsIn(header: string): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  const text = header.toLowerCase()
  for (let from = 0; from < text.length; ) {
    const comma = text.indexOf(',', from)
    const part = text.slice(from, comma < 0 ? text.length : comma)
    const end = part.indexOf(';')
    const name = (end < 0 ? part : part.slice(0, end)).trim()
    const known = name === 'x-gzip' ? 'gzip' : name
    const weight = end < 0 ? 1 : weightIn(part.slice(end + 1))
    weights.set(known, Math.min(weight, weights.get(known) ?? 1))
    from += part.length + 1
  }
  return weights
}

/** A weight that cannot be read is none. */
function weightIn(parameters: string): number {
  const stated = parameters.split(';').find((one) => one.trimStart().startsWith('q='))
  if (stated === undefined) return 1
  const weight = Number(stated.slice(stated.indexOf('=') + 1))
  return weight >= 0 && weight <= 1 ? weight : 0
}
