// Canonical JSON (RFC 8785) for receipts: members sorted by name, no whitespace. A value has one text, so a signature over
// that text can be checked by anyone who has the value. Numbers must be safe integers; fractions are strings.
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return JSON.stringify(value)
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) throw new Error(`${value} is not a safe integer`)
    return String(value)
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object') throw new Error(`a ${typeof value} has no canonical form`)
  let text = ''
  // RFC 8785 requires the order of UTF-16 code units, which is how JavaScript sorts strings.
  for (const name of Object.keys(value).sort()) {
    const member = (value as Record<string, unknown>)[name]
    if (member !== undefined) text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(member)}`
  }
  return `{${text}}`
}
