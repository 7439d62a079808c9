// Compares the rewards that Tetrad computes from blocks with those that the node reports, for `tetrad validators audit`
// (behaviour/validators.md#reward-audits).
//
// Prysm's rewards differ from the chain in two cases: it states penalties of a block that withdraws a whole balance although
// they are not taken, which is no difference here; and it has no ideal rewards above 32 ETH, which are not compared.
import { recordFrom } from '#core/record-from.ts'
import type { Beacon } from '#sources/beacon/client.ts'
import type { States } from '../read/epoch-source.ts'
import { createRewardQueries, type RewardQueries, voteParts } from '../read/reward-queries.ts'
import { proposerReward, type SyncSeat } from '../rules/block-effects.ts'
import { type Carry, type ProcessedEpoch, processEpoch } from './process-epoch.ts'
import { Sums } from './sums.ts'

export const auditParts = ['source', 'target', 'head', 'inactivity', 'block', 'sync'] as const
type AuditPart = (typeof auditParts)[number]

export interface AuditLine {
  readonly epoch: number
  readonly part: AuditPart
  /** Rewards that both sides have; 0: the node does not report this part. */
  readonly compared: number
  readonly differing: number
  /** The node's rewards minus ours, added up. */
  readonly gwei: number
}

/** Reads the epochs again, in order, without storing duties. */
export async function* auditEpochs(
  beacon: Beacon,
  states: States,
  epochs: { readonly from: number; readonly until: number },
  signal: AbortSignal,
): AsyncGenerator<readonly AuditLine[]> {
  const { rules } = await beacon.chain(signal)
  const queries = createRewardQueries(beacon, signal)
  let carry: Carry | undefined
  for (let epoch = Math.max(0, epochs.from - 1); epoch < epochs.until; epoch++) {
    const data = await states.readFinal(epoch, signal, (source) => source.read(epoch))
    const processed = processEpoch(rules, data, carry, new Sums())
    carry = processed.carry
    if (epoch >= epochs.from) yield compareRewards(queries, epoch, processed)
  }
}

export async function compareRewards(
  queries: RewardQueries,
  epoch: number,
  { voteRewards, effects }: ProcessedEpoch,
): Promise<AuditLine[]> {
  const tallies = recordFrom(auditParts, () => ({ compared: 0, differing: 0, gwei: 0 }))
  const compare = (part: AuditPart, node: number, computed: number) => {
    const tally = tallies[part]
    tally.compared += 1
    if (node === computed) return
    tally.differing += 1
    tally.gwei += node - computed
  }
  for (const [index, rewards] of (await queries.voteRewards(epoch)) ?? []) {
    for (const part of voteParts) compare(part, rewards[part], voteRewards[part][index] ?? 0)
  }
  for (const block of effects) {
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
