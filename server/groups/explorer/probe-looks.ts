// Looks for somebody at an address that was nobody before and after: a contract that came and went (decision 0161), or one that was
// paid before it came, swept and went within a transaction (decision 0170). For where neither lists nor blocks tell.
import type { Asks } from './probe-asks.ts'
import { between } from './probe-search.ts'

const partsMin = 32

/**
 * Whether there was anybody at the blocks looked at in (after, until]: those between 32 equal parts of that time, then between twice as
 * many, up to `looks`, as long as calls and time are left.
 */
export async function metSomebody(asks: Asks, after: number, until: number): Promise<boolean> {
  const { looks, over } = asks.limits
  const seen = new Set<number>()
  for (let parts = partsMin; ; parts = Math.min(parts * 2, looks)) {
    const points = between(after, until + 1, parts - 1).filter((point) => !seen.has(point))
    if (parts > partsMin && (over?.() || points.length * 2 > asks.callsLeft)) return false
    if (await asks.metAt(points)) return true
    for (const point of points) seen.add(point)
    if (parts >= looks || seen.size >= until - after) return false
  }
}
