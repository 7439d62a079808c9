// Doctor findings about the next fork of a network: whether all of its nodes schedule it, on both layers, for one time.
import type { Network } from '#api/contract/wire/networks.ts'
import type { Clock } from '#runtime/clock.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import type { Chain } from '#sources/beacon/endpoint.ts'
import { describeFork, findNextFork, listForks, type ScheduledFork } from '#sources/beacon/next-fork.ts'
import type { Rpc } from '#sources/evm/rpc.ts'
import { type DoctorFinding, okFinding, warnFinding } from './diagnosis.ts'

/** Compares the schedules of the beacon nodes. A node that lacks a fork that has started is on another chain since then. */
export async function beaconForkFindings(
  name: string,
  beacon: Beacon,
  clock: Pick<Clock, 'now'>,
  signal: AbortSignal,
): Promise<DoctorFinding[]> {
  const nowMs = clock.now()
  const nodes = await Promise.all(
    beacon.each().map(async (node) => {
      // A node that does not respond has a finding of its own.
      const chain = await node.beacon.chain(signal).catch(() => undefined)
      return chain && { name: node.name, forks: listForks(chain), next: findNextFork(chain, nowMs) }
    }),
  )
  const known = nodes.filter((node) => node !== undefined)
  const [next] = known.flatMap((node) => node.next ?? []).sort((a, b) => a.epoch - b.epoch)
  const findings = next ? [aboutNext(name, next, nowMs)] : []
  for (const fork of uniqueForks(known.flatMap(({ forks }) => forks))) {
    const first = known.find(({ forks }) => forks.some((own) => isSame(own, fork)))
    const lacking = known.filter(({ forks }) => !forks.some((own) => isSame(own, fork)))
    if (lacking.length === 0) continue
    const names = lacking.map((node) => node.name).join(', ')
    const message = `not scheduled by ${names}: ${describeFork(fork, nowMs)}, which ${first?.name} schedules`
    findings.push(warnFinding(name, message, 'update the client of the node that is not upgraded, before the fork'))
  }
  return findings
}

/** If the fork has started, the finding about the network fails (network-findings.ts). */
function aboutNext(name: string, fork: ScheduledFork, nowMs: number): DoctorFinding {
  if (fork.isKnown) return okFinding(name, `next fork: ${describeFork(fork, nowMs)}, supported`)
  const message = `the fork ${describeFork(fork, nowMs)} is not supported by this version of Tetrad`
  return warnFinding(name, message, 'update Tetrad before this time; epochs from the fork on are not read')
}

const isSame = (a: ScheduledFork, b: ScheduledFork): boolean => a.name === b.name && a.epoch === b.epoch

const uniqueForks = (forks: readonly ScheduledFork[]): ScheduledFork[] =>
  forks.filter((fork, at) => forks.findIndex((other) => isSame(other, fork)) === at)

/** The start of the next fork in the answer of `eth_config` (EIP-7910); null: none. Undefined: the node does not offer it. */
export async function readNextExecutionFork(rpc: Rpc, untilMs: number): Promise<number | null | undefined> {
  const call = { method: 'eth_config', params: [], acceptsError: true } as const
  const [outcome] = await rpc.call([call], { untilMs, attemptsMax: 1 })
  if (outcome?.is !== 'result') return undefined
  const { next } = (outcome.result ?? {}) as { readonly next?: unknown }
  if (next === null) return null
  const { activationTime } = (next ?? {}) as { readonly activationTime?: unknown }
  const seconds = typeof activationTime === 'string' ? Number(activationTime) : activationTime
  return Number.isSafeInteger(seconds) ? (seconds as number) * 1000 : undefined
}

export interface ExecutionSchedule {
  readonly name: string
  /** Of the next fork; null: none is scheduled. */
  readonly nextMs: number | null
}

/** The next fork of a chain of the explorer. `eth_config` has its time, but not its name. */
export function chainForkFindings(name: string, nodes: readonly ExecutionSchedule[], nowMs: number): DoctorFinding[] {
  const times = [...new Set(nodes.map(({ nextMs }) => nextMs))]
  const describe = (nextMs: number | null): string =>
    nextMs === null ? 'no fork' : `a fork at ${new Date(nextMs).toISOString()} (in ${daysUntil(nextMs, nowMs)} days)`
  if (times.length < 2)
    return times.flatMap((nextMs) => (nextMs === null ? [] : [okFinding(name, `schedules ${describe(nextMs)}`)]))
  const schedules = nodes.map((node) => `${node.name} schedules ${describe(node.nextMs)}`).join('; ')
  return [warnFinding(name, schedules, 'update the client that is not upgraded, before the fork')]
}

const daysUntil = (atMs: number, nowMs: number): number => Math.floor((atMs - nowMs) / 86_400_000)

/** Both layers of a network fork at the same time. */
export function executionForkFindings(
  name: string,
  network: Network,
  chain: Chain | undefined,
  executionMs: number | null | undefined,
  nowMs: number,
): DoctorFinding[] {
  if (!chain || executionMs === undefined) return []
  const next = findNextFork(chain, nowMs)
  if ((next?.atMs ?? null) === executionMs) return []
  const execution = executionMs === null ? 'no fork' : `a fork at ${new Date(executionMs).toISOString()}`
  const consensus = next ? describeFork(next, nowMs) : 'no fork'
  const message = `the execution node schedules ${execution}, but the beacon nodes of ${network} schedule ${consensus}`
  return [warnFinding(name, message, 'update the client that is not upgraded, before the fork')]
}
