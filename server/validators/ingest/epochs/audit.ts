// Two ways to know what validators were paid: the consensus rules over the blocks, which is what the ratings rest on, and
// the node's own rewards endpoints. This holds one against the other; the difference is kept and shown. Ingest does so with
// a sample of every epoch (behaviour/validators.md#reward-audits), the command with whole epochs.
import { type Network, networks } from '#api/wire/validators.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import type { Duties } from '#storage/duties.ts'
import { type AuditLine, type AuditPart, auditParts } from '#validators/duties/audits.ts'
import { BeaconQueries } from '../read/beacon-queries.ts'
import { EpochReader } from '../read/epoch-reader.ts'
import { settleBalances } from '../read/settle-balances.ts'
import { type Carry, type ProcessedEpoch, processEpoch } from './process-epoch.ts'
import { Sums } from './sums.ts'

/** Of an epoch: these validators' votes and these slots' blocks. */
export interface AuditSample {
  readonly validators: readonly number[]
  readonly slots: readonly number[]
}

/** Reads the epochs again, in order, without writing ratings. */
export async function* auditEpochs(
  beacon: Beacon,
  epochs: { readonly from: number; readonly until: number },
  signal: AbortSignal,
): AsyncGenerator<readonly AuditLine[]> {
  const { rules } = await beacon.chain(signal)
  const reader = new EpochReader(beacon, rules).withSignal(signal)
  const queries = new BeaconQueries(beacon, rules, signal)
  let carry: Carry | undefined
  for (let epoch = Math.max(0, epochs.from - 1); epoch < epochs.until; epoch++) {
    const data = await reader.read(epoch)
    settleBalances(data, carry)
    const processed = processEpoch(rules, data, carry, new Sums())
    carry = processed.carry
    if (epoch >= epochs.from) yield compareRewards(queries, epoch, processed)
  }
}

/** Another part of the network with every epoch, so that in time everyone is compared. */
export function chooseSample(epoch: number, { voteRewards, effects }: ProcessedEpoch, size: number): AuditSample {
  const count = voteRewards.eligible.length
  const first = (epoch * size) % Math.max(1, count)
  const validators = Array.from({ length: Math.min(size, count) }, (_, at) => (first + at) % count)
  const block = effects[epoch % Math.max(1, effects.length)]
  return {
    validators: validators.filter((index) => voteRewards.eligible[index] === 1),
    slots: block ? [block.slot] : [],
  }
}

export async function compareRewards(
  queries: BeaconQueries,
  epoch: number,
  { voteRewards, effects }: ProcessedEpoch,
  sample?: AuditSample,
): Promise<AuditLine[]> {
  const tallies = new Map(auditParts.map((part) => [part, { compared: 0, differing: 0, gwei: 0 }]))
  const count = (part: AuditPart, node: number, ours: number) => {
    const tally = tallies.get(part) as { compared: number; differing: number; gwei: number }
    tally.compared += 1
    if (node === ours) return
    tally.differing += 1
    tally.gwei += node - ours
  }
  // An empty list would ask for everyone.
  const nodeRewards = sample?.validators.length === 0 ? undefined : await queries.voteRewards(epoch, sample?.validators)
  for (const [index, own] of nodeRewards ?? []) {
    for (const part of ['source', 'target', 'head', 'inactivity'] as const)
      count(part, own[part], voteRewards[part][index] ?? 0)
  }
  for (const one of effects) {
    if (sample && !sample.slots.includes(one.slot)) continue
    const block = await queries.blockReward(one.slot)
    if (block) count('block', block.votes + block.sync + block.slashings, one.votes + one.sync + one.slashings)
    const ours = new Map<number, number>()
    for (const { validator, signed } of one.seats) {
      ours.set(validator, (ours.get(validator) ?? 0) + (signed ? one.syncSeat : 0 - one.syncSeat))
    }
    for (const [index, gwei] of (await queries.syncRewards(one.slot)) ?? []) count('sync', gwei, ours.get(index) ?? 0)
  }
  return auditParts.map((part) => ({ epoch, part, ...(tallies.get(part) as Omit<AuditLine, 'epoch' | 'part'>) }))
}

export const storeAudit = (duties: Duties, network: Network, lines: readonly AuditLine[]): Promise<void> =>
  // Not through duties/store.ts: the thread that makes epochs loads this file, and must not load the store.
  duties.update('writeAudits', { network, lines })

/** For the control socket: lines that a command found beside the server, `{network, lines}`. */
export async function storeCommandAudit(duties: Duties, input: unknown): Promise<void> {
  const { network, lines } = (input ?? {}) as { network?: unknown; lines?: unknown }
  const known = networks.find((one) => one === network)
  if (!known || !Array.isArray(lines) || lines.length > linesMax || !lines.every(isAuditLine))
    throw new Error(`lines of an audit are {network, lines}, at most ${linesMax}`)
  await storeAudit(duties, known, lines)
}

/** An epoch has one of each part, and is told at once. */
const linesMax = 64

function isAuditLine(given: unknown): given is AuditLine {
  const { part, epoch, compared, differing, gwei } = (given ?? {}) as Partial<Record<keyof AuditLine, unknown>>
  const areWhole = [epoch, compared, differing, gwei].every(Number.isSafeInteger)
  return areWhole && auditParts.some((one) => one === part)
}
