// Doctor findings about the next fork of a network or chain: whether all of its nodes schedule it, on both layers, for one
// time, and whether their clients are releases that are known for it.
import type { Network } from '#api/contract/wire/networks.ts'
import { describeChainFork, describeOtherForks, findChainFork, type NodeFork } from '#explorer/chain-forks.ts'
import type { Clock } from '#runtime/clock.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import { type Chain, dataOf } from '#sources/beacon/endpoint.ts'
import {
  describeFork,
  describeMissingForks,
  describeOtherLayer,
  findNextFork,
  findNextOfNodes,
  readForksOfNodes,
  type ScheduledFork,
} from '#sources/beacon/next-fork.ts'
import type { Rpc } from '#sources/evm/rpc.ts'
import { describeOldClient } from './client-releases.ts'
import { type DoctorFinding, okFinding, warnFinding } from './diagnosis.ts'

const updateTodo = 'update the client of the node that is not upgraded, before the fork'

/** Compares the schedules of the beacon nodes, and their releases with the forks of all of them. */
export async function beaconForkFindings(
  name: string,
  beacon: Beacon,
  clock: Pick<Clock, 'now'>,
  signal: AbortSignal,
): Promise<DoctorFinding[]> {
  const nowMs = clock.now()
  const nodes = await readForksOfNodes(beacon, signal)
  const forks = nodes.flatMap((node) => node.forks)
  const next = findNextOfNodes(nodes, nowMs)
  const missing = describeMissingForks(nodes, nowMs)
  const old = await Promise.all(
    beacon.each().map(async (node) => {
      const version = await readBeaconVersion(node.beacon, signal).catch(() => '')
      return oldClientFindings(name, node.name, version, [...new Set(forks.map((fork) => fork.name))])
    }),
  )
  return [
    ...(next ? [aboutNext(name, next, nowMs)] : []),
    ...missing.map((message) => warnFinding(name, message, updateTodo)),
    ...old.flat(),
  ]
}

const readBeaconVersion = async (beacon: Beacon, signal: AbortSignal): Promise<string> =>
  (await beacon.request(
    { path: '/eth/v1/node/version' },
    (reply) => String((dataOf(reply.is === 'json' ? reply.body : undefined) as { version?: unknown })?.version ?? ''),
    signal,
  )) ?? ''

/** If the fork has started, the finding about the network fails (network-findings.ts). */
function aboutNext(name: string, fork: ScheduledFork, nowMs: number): DoctorFinding {
  if (fork.isKnown) return okFinding(name, `next fork: ${describeFork(fork, nowMs)}, supported`)
  const message = `the fork ${describeFork(fork, nowMs)} is not supported by this version of Tetrad`
  return warnFinding(name, message, 'update Tetrad before this time; epochs from the fork on are not read')
}

export const readExecutionVersion = async (rpc: Rpc, untilMs: number): Promise<string> => {
  const call = { method: 'web3_clientVersion', params: [], acceptsError: true } as const
  const [outcome] = await rpc.call([call], { untilMs, attemptsMax: 1 })
  return outcome?.is === 'result' ? String(outcome.result) : ''
}

/** `version`: as the client names itself; empty: not known. */
export function oldClientFindings(
  name: string,
  node: string,
  version: string,
  forks: readonly string[],
): DoctorFinding[] {
  const old = describeOldClient(version, forks)
  return old === undefined ? [] : [warnFinding(name, `${node} ${old}`, updateTodo)]
}

/** The next fork of a chain of the explorer, as its nodes schedule it. */
export function chainForkFindings(name: string, nodes: readonly NodeFork[], nowMs: number): DoctorFinding[] {
  const fork = findChainFork(nodes, nowMs)
  const others = describeOtherForks(nodes, nowMs)
  const findings: DoctorFinding[] = []
  if (fork?.isKnown === false) {
    const message = `schedules ${describeChainFork(fork, nowMs)}, which this version of Tetrad does not support`
    findings.push(warnFinding(name, message, 'update Tetrad before this time'))
  } else if (fork && others === undefined)
    findings.push(okFinding(name, `schedules ${describeChainFork(fork, nowMs)}, supported`))
  if (others !== undefined) findings.push(warnFinding(name, others, updateTodo))
  return findings
}

/** Both layers of a network fork at the same time. */
export function executionForkFindings(
  name: string,
  network: Network,
  chain: Chain | undefined,
  executionMs: number | null | undefined,
  nowMs: number,
): DoctorFinding[] {
  const message = chain && describeOtherLayer(network, findNextFork(chain, nowMs), executionMs, nowMs)
  return message === undefined ? [] : [warnFinding(name, message, updateTodo)]
}
