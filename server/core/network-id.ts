// The number of a network in the duties database, where it is a part of the keys of rows. It follows from the name, so it
// is the same in every process and on every thread, and never belongs to another name. Two names may have the same
// number; then only one of them can be used with a database, and the other is refused (duties/networks.ts).
const knownNames = ['mainnet', 'hoodi', 'holesky', 'sepolia']
/** The numbers below are for known names. */
const firstHashed = 16
/** Numbers have eleven bits in keys (duties/layout.ts). */
export const networkIdsEnd = 2 ** 11

export function networkId(name: string): number {
  const known = knownNames.indexOf(name)
  if (known >= 0) return known + 1
  // FNV-1a
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0
  return firstHashed + (hash % (networkIdsEnd - firstHashed))
}
