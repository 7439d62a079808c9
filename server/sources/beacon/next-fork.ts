// The next change of the rules that a node schedules: a fork (`…_FORK_EPOCH`), or other limits of blobs (BLOB_SCHEDULE).
import { type Epoch, epochStartMs } from '#core/chain-time.ts'
import type { Beacon } from './client.ts'
import { forks } from './consensus.ts'
import type { Chain } from './endpoint.ts'

export interface ScheduledFork {
  /** In lower case. */
  readonly name: string
  /** Its first epoch. */
  readonly epoch: number
  readonly atMs: number
  /** Whether this version of Tetrad supports it. */
  readonly isKnown: boolean
}

type ForkSource = Pick<Chain, 'identity' | 'rules' | 'spec'>

/** All forks with an epoch, in chronological order; of the same epoch, unknown ones first. */
export function listForks({ identity, rules, spec }: ForkSource): ScheduledFork[] {
  const at = (name: string, epoch: number, isKnown: boolean): ScheduledFork => ({
    ...{ name, epoch, isKnown, atMs: epochStartMs(identity, epoch as Epoch) },
  })
  const known = forks.map((name) => at(name, rules.forkEpochs[name], true))
  const unknown = rules.unknownFork ? [at(rules.unknownFork.name, rules.unknownFork.epoch, false)] : []
  return [...unknown, ...known, ...blobEpochs(spec.BLOB_SCHEDULE).map((epoch) => at('more blobs', epoch, true))]
    .filter(({ epoch }) => Number.isSafeInteger(epoch))
    .sort((a, b) => a.epoch - b.epoch)
}

/** Undefined: none is scheduled. */
export const findNextFork = (chain: ForkSource, nowMs: number): ScheduledFork | undefined =>
  listForks(chain).find(({ atMs }) => atMs > nowMs)

/** Nothing of a block that Tetrad reads depends on the number of blobs, so an entry that is not valid is left out. */
const blobEpochs = (schedule: unknown): number[] =>
  (Array.isArray(schedule) ? (schedule as readonly unknown[]) : []).flatMap((entry) => {
    const { EPOCH: epoch } = (entry ?? {}) as { readonly EPOCH?: unknown }
    return typeof epoch === 'string' && /^\d{1,16}$/.test(epoch) ? [Number(epoch)] : []
  })

/** Of one node. */
export interface NodeForks {
  readonly name: string
  readonly forks: readonly ScheduledFork[]
}

/** Of the nodes that respond. */
export async function readForksOfNodes(beacon: Beacon, signal: AbortSignal): Promise<NodeForks[]> {
  const nodes = await Promise.all(
    beacon.each().map(async (node) => {
      // A node that does not respond is reported as such.
      const chain = await node.beacon.chain(signal).catch(() => undefined)
      return chain ? [{ name: node.name, forks: listForks(chain) }] : []
    }),
  )
  return nodes.flat()
}

/** The first one that any of the nodes schedules. */
export const findNextOfNodes = (nodes: readonly NodeForks[], nowMs: number): ScheduledFork | undefined =>
  nodes
    .flatMap(({ forks }) => forks)
    .filter(({ atMs }) => atMs > nowMs)
    .sort((a, b) => a.epoch - b.epoch)[0]

/** A node that lacks a fork that has started is on another chain since then. */
export function describeMissingForks(nodes: readonly NodeForks[], nowMs: number): string[] {
  const all = nodes.flatMap(({ forks }) => forks)
  const unique = all.filter((fork, at) => all.findIndex((other) => isSame(other, fork)) === at)
  return unique.flatMap((fork) => {
    const first = nodes.find(({ forks }) => forks.some((own) => isSame(own, fork)))
    const lacking = nodes.filter(({ forks }) => !forks.some((own) => isSame(own, fork))).map(({ name }) => name)
    if (lacking.length === 0) return []
    return [`not scheduled by ${lacking.join(', ')}: ${describeFork(fork, nowMs)}, which ${first?.name} schedules`]
  })
}

const isSame = (a: ScheduledFork, b: ScheduledFork): boolean => a.name === b.name && a.epoch === b.epoch

/** Both layers of a network fork at the same time. `executionMs`: null: no fork; undefined: not known. */
export function describeOtherLayer(
  network: string,
  next: ScheduledFork | undefined,
  executionMs: number | null | undefined,
  nowMs: number,
): string | undefined {
  if (executionMs === undefined || (next?.atMs ?? null) === executionMs) return undefined
  const execution = executionMs === null ? 'no fork' : `a fork at ${new Date(executionMs).toISOString()}`
  const consensus = next ? describeFork(next, nowMs) : 'no fork'
  return `the execution node schedules ${execution}, but the beacon nodes of ${network} schedule ${consensus}`
}

const dayMs = 86_400_000

/** `gloas of epoch 500000 (2026-12-05T10:00:00.000Z, in 16 days)` */
export function describeFork(
  { name, epoch, atMs }: Pick<ScheduledFork, 'name' | 'epoch' | 'atMs'>,
  nowMs: number,
): string {
  const days = Math.floor((atMs - nowMs) / dayMs)
  return `${name} of epoch ${epoch} (${new Date(atMs).toISOString()}${days >= 0 ? `, in ${days} days` : ''})`
}
