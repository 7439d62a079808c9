// Compares the rewards that Tetrad computes from blocks with those that the node reports, and stores the differences.
// Ingest compares a sample of every epoch (behaviour/validators.md#reward-audits), `tetrad validators audit` whole
// epochs.
import { isNetworkName, type Network } from '#api/contract/wire/networks.ts'
import { recordFrom } from '#core/record-from.ts'
import { type Beacon, BeaconError } from '#sources/beacon/client.ts'
import type { ChainIdentity } from '#sources/beacon/endpoint.ts'
import type { Duties } from '#storage/duties.ts'
import { type AuditLine, type AuditPart, auditParts } from '#validators/duties/audits.ts'
import { storedChain } from '#validators/duties/networks.ts'
import { EpochReader } from '../read/epoch-reader.ts'
import { createRewardQueries, type RewardQueries, voteParts } from '../read/reward-queries.ts'
import { settleBalances } from '../read/settle-balances.ts'
import { proposerReward, type SyncSeat } from '../rules/block-effects.ts'
import { type Carry, type ProcessedEpoch, processEpoch } from './process-epoch.ts'
import { Sums } from './sums.ts'

/** The validators whose votes are compared, and the slots whose blocks are compared. */
export interface AuditSample {
  readonly validators: readonly number[]
  readonly slots: readonly number[]
}

/** After a failed audit, the next one is skipped for this many epochs. */
const restEpochs = 225

export type AuditEpoch = (
  epoch: number,
  processed: ProcessedEpoch,
  signal: AbortSignal,
) => Promise<readonly AuditLine[]>

/** Compares a sample of every epoch. A node that does not report rewards does not delay ingest. */
export function createEpochAudit(beacon: Beacon, validatorsPerEpoch: number): AuditEpoch {
  let fromEpoch = 0
  return async (epoch, processed, signal) => {
    if (epoch < fromEpoch) return []
    const sample = chooseSample(epoch, processed, validatorsPerEpoch)
    try {
      const lines = await compareRewards(createRewardQueries(beacon, signal), epoch, processed, sample)
      const compared = lines.filter(({ compared }) => compared > 0)
      if (compared.length === 0) fromEpoch = epoch + restEpochs
      return compared
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof BeaconError)) throw error
      fromEpoch = epoch + restEpochs
      return []
    }
  }
}

/** Reads the epochs again, in order, without storing duties. */
export async function* auditEpochs(
  beacon: Beacon,
  epochs: { readonly from: number; readonly until: number },
  signal: AbortSignal,
): AsyncGenerator<readonly AuditLine[]> {
  const { rules } = await beacon.chain(signal)
  const reader = new EpochReader(beacon, rules).withSignal(signal)
  const queries = createRewardQueries(beacon, signal)
  let carry: Carry | undefined
  for (let epoch = Math.max(0, epochs.from - 1); epoch < epochs.until; epoch++) {
    const data = await reader.read(epoch)
    settleBalances(data, carry)
    const processed = processEpoch(rules, data, carry, new Sums())
    carry = processed.carry
    if (epoch >= epochs.from) yield compareRewards(queries, epoch, processed)
  }
}

/** Chooses other validators for each epoch, so that over time all validators are compared. */
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
  queries: RewardQueries,
  epoch: number,
  { voteRewards, effects }: ProcessedEpoch,
  sample?: AuditSample,
): Promise<AuditLine[]> {
  const tallies = recordFrom(auditParts, () => ({ compared: 0, differing: 0, gwei: 0 }))
  const compare = (part: AuditPart, node: number, computed: number) => {
    const tally = tallies[part]
    tally.compared += 1
    if (node === computed) return
    tally.differing += 1
    tally.gwei += node - computed
  }
  // An empty list would request all validators.
  const nodeRewards = sample?.validators.length === 0 ? undefined : await queries.voteRewards(epoch, sample?.validators)
  for (const [index, rewards] of nodeRewards ?? []) {
    for (const part of voteParts) compare(part, rewards[part], voteRewards[part][index] ?? 0)
  }
  for (const block of effects) {
    if (sample && !sample.slots.includes(block.slot)) continue
    const reward = await queries.blockReward(block.slot)
    if (reward) compare('block', reward.votes + reward.sync + reward.slashings, proposerReward(block))
    const seats = Map.groupBy(block.seats, ({ validator }) => validator)
    for (const [index, gwei] of (await queries.syncRewards(block.slot)) ?? []) {
      const [paid, stated] = [paidSync(seats.get(index) ?? []), statedSync(seats.get(index) ?? [], block.syncSeat)]
      compare('sync', gwei, gwei === stated ? gwei : paid)
    }
  }
  return auditParts.map((part) => ({ epoch, part, ...tallies[part] }))
}

const paidSync = (seats: readonly SyncSeat[]): number => seats.reduce((sum, { gwei }) => sum + gwei, 0)

/** Prysm's reply for a block that withdraws a whole balance contains the penalties that were no longer taken from it. */
const statedSync = (seats: readonly SyncSeat[], syncSeat: number): number =>
  seats.reduce((sum, { signed }) => sum + (signed ? syncSeat : 0 - syncSeat), 0)

export const storeAudit = (duties: Duties, network: Network, lines: readonly AuditLine[]): Promise<void> =>
  // Not through duties/store.ts: the processor thread loads this file and must not load the store.
  duties.update('writeAudits', { network, lines })

/**
 * Control call `storeAudit` with `{network, lines}`: stores what a command compared while the server is running. Returns
 * the chain of the network, so that the command refuses a node of another one.
 */
export async function storeCommandAudit(duties: Duties, input: unknown): Promise<ChainIdentity | undefined> {
  const { network, lines } = (input ?? {}) as { network?: unknown; lines?: unknown }
  const known = typeof network === 'string' && isNetworkName(network) ? network : undefined
  if (known === undefined || !Array.isArray(lines) || lines.length > linesMax || !lines.every(isAuditLine))
    throw new Error(`expected {network, lines} with at most ${linesMax} valid lines`)
  await storeAudit(duties, known, lines)
  return storedChain(duties, known)
}

/** An epoch has one line per part, and a command sends one epoch at a time. */
const linesMax = 64

function isAuditLine(value: unknown): value is AuditLine {
  const { part, epoch, compared, differing, gwei } = (value ?? {}) as Partial<Record<keyof AuditLine, unknown>>
  const areWhole = [epoch, compared, differing, gwei].every(Number.isSafeInteger)
  return areWhole && auditParts.some((known) => known === part)
}
