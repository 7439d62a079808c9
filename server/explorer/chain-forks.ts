// The next fork of a chain, as each of its nodes schedules it (behaviour/explorer.md#node-capabilities).
import { type NextChainFork, readNextChainFork } from '#sources/evm/next-fork.ts'
import type { Rpc } from '#sources/evm/rpc.ts'

/** Of one node. */
export interface NodeFork {
  readonly name: string
  /** Null: no fork is scheduled. */
  readonly next: NextChainFork | null
}

/** Of the nodes that respond and have `eth_config`. */
export async function readNodeForks(rpc: Rpc, untilMs: number): Promise<readonly NodeFork[]> {
  const forks = await Promise.all(
    rpc.health().map(async ({ name }, index) => {
      // A node that does not respond is reported as such.
      const next = await readNextChainFork(rpc.of([index]), untilMs).catch(() => undefined)
      return { name, next }
    }),
  )
  return forks.filter((fork): fork is NodeFork => fork.next !== undefined)
}

/** The first one that any of the nodes schedules. */
export const findChainFork = (forks: readonly NodeFork[], nowMs: number): NextChainFork | undefined =>
  forks.flatMap(({ next }) => (next && next.atMs > nowMs ? [next] : [])).sort((a, b) => a.atMs - b.atMs)[0]

/** `a fork at 2026-12-05T10:00:00.000Z (amsterdam, in 16 days)` */
export function describeChainFork(fork: NextChainFork | null, nowMs: number): string {
  if (fork === null) return 'no fork'
  const days = Math.floor((fork.atMs - nowMs) / dayMs)
  return `a fork at ${new Date(fork.atMs).toISOString()} (${fork.name}${days >= 0 ? `, in ${days} days` : ''})`
}

const dayMs = 86_400_000

/** Undefined: all nodes schedule the same. */
export function describeOtherForks(forks: readonly NodeFork[], nowMs: number): string | undefined {
  if (new Set(forks.map(({ next }) => next?.atMs ?? null)).size < 2) return undefined
  return forks.map(({ name, next }) => `${name} schedules ${describeChainFork(next, nowMs)}`).join('; ')
}
