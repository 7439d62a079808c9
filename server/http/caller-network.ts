// Who counts as one caller without a key: an IPv4 address, or the first 64 bits of an IPv6 one, because a single
// subscriber is handed 2^64 of those and could otherwise use a fresh one for every call (behaviour/http.md#too-many-invalid-keys).

const mappedShape = /^(?:0{0,4}:){1,5}:?ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i

/** Longer than any address with its zone. Behind a proxy the text comes from a header, so it may be anything. */
const addressCharsMax = 64

export function networkOf(address: string): string {
  if (address.length > addressCharsMax) return 'unreadable'
  if (!address.includes(':')) return address
  const mapped = mappedShape.exec(address)?.[1]
  if (mapped) return mapped
  const [head = '', tail] = (address.split('%')[0] as string).toLowerCase().split('::')
  const groups = head === '' ? [] : head.split(':')
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':')
    // A dotted end stands for two groups.
    const lastCount = last.length + (tail.includes('.') ? 1 : 0)
    while (groups.length + lastCount < 8) groups.push('0')
    groups.push(...last)
  }
  const first = groups.slice(0, 4).map((group) => group.replace(/^0+(?=.)/, ''))
  return `${first.join(':')}::/64`
}
