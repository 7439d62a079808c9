// Callers without a key are counted by IPv4 address or by IPv6 /64 network, because one IPv6 subscriber has 2^64
// addresses (behaviour/http.md#too-many-invalid-keys).

const mappedPattern = /^(?:0{0,4}:){1,5}:?ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i

/** Longer than any address with a zone. Behind a proxy, the text comes from a header and may be anything. */
const addressCharsMax = 64

export function networkOf(address: string): string {
  if (address.length > addressCharsMax) return 'unreadable'
  if (!address.includes(':')) return address
  const mapped = mappedPattern.exec(address)?.[1]
  if (mapped) return mapped
  const [head = '', tail] = (address.split('%')[0] as string).toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':')
    // An IPv4 suffix counts as two groups.
    const lastCount = last.length + (tail.includes('.') ? 1 : 0)
    while (groups.length + lastCount < 8) groups.push('0')
    groups.push(...last)
  }
  const networkGroups = groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ''))
  return `${networkGroups.join(':')}::/64`
}
