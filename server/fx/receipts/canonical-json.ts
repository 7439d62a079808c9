// One text for one value: members sorted by name, no spaces, so that a signature over it can be checked by anyone who has
// the value (RFC 8785, for what it takes here). Numbers must be whole and exact: fractions are written as texts.

export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value)
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new Error(`${value} is not a whole number that is exact`)
    return String(value)
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object') throw new Error(`a ${typeof value} has no canonical form`)
  // UTF-16 order, as the platform compares texts and as RFC 8785 asks.
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join(',')}}`
}
