// Two ways to know what validators were paid: the consensus rules over the blocks, which is what the ratings rest on, and
// the node's own rewards endpoints. This holds one against the other; the difference is kept and shown.
import type { Network } from '#api/wire/validators.ts'
import type { Beacon } from '#io/beacon/client.ts'
import type { Facts, FactsReader } from '#store/facts.ts'
import { Asker } from './ask.ts'
import { settle } from './follow.ts'
import { EpochReader } from './read.ts'
import { type Carry, type Refined, refineEpoch } from './refine.ts'
import { Sums } from './sums.ts'

export const auditParts = ['source', 'target', 'head', 'inactivity', 'block', 'sync'] as const
export type AuditPart = (typeof auditParts)[number]

export interface AuditLine {
  readonly epoch: number
  readonly part: AuditPart
  /** Figures that both ways gave; 0: the node does not offer this part. */
  readonly compared: number
  readonly differing: number
  /** Node minus rules, added up. */
  readonly gwei: number
}

/** Reads the epochs again, in order, without writing ratings. */
export async function* auditEpochs(
  beacon: Beacon,
  epochs: { readonly from: number; readonly until: number },
  signal: AbortSignal,
): AsyncGenerator<readonly AuditLine[]> {
  const { rules } = await beacon.chain(signal)
  const reader = new EpochReader(beacon, rules).under(signal)
  const ask = new Asker(beacon, rules, signal)
  let carry: Carry | undefined
  for (let epoch = Math.max(0, epochs.from - 1); epoch < epochs.until; epoch++) {
    const reading = await reader.read(epoch)
    settle(reading, carry)
    const refined = refineEpoch(rules, reading, carry, new Sums())
    carry = refined.carry
    if (epoch >= epochs.from) yield compare(ask, epoch, refined)
  }
}

async function compare(ask: Asker, epoch: number, { pay, effects }: Refined): Promise<AuditLine[]> {
  const tallies = new Map(auditParts.map((part) => [part, { compared: 0, differing: 0, gwei: 0 }]))
  const hold = (part: AuditPart, node: number, ours: number) => {
    const tally = tallies.get(part) as { compared: number; differing: number; gwei: number }
    tally.compared += 1
    if (node === ours) return
    tally.differing += 1
    tally.gwei += node - ours
  }
  for (const [index, told] of (await ask.voteRewards(epoch)) ?? []) {
    for (const part of ['source', 'target', 'head', 'inactivity'] as const)
      hold(part, told[part], pay[part][index] ?? 0)
  }
  for (const one of effects) {
    const block = await ask.blockReward(one.slot)
    if (block) hold('block', block.votes + block.sync + block.slashings, one.votes + one.sync + one.slashings)
    const told = await ask.syncRewards(one.slot)
    const ours = new Map<number, number>()
    for (const { validator, signed } of one.seats) {
      ours.set(validator, (ours.get(validator) ?? 0) + (signed ? one.stake.syncSeat : 0 - one.stake.syncSeat))
    }
    for (const [index, gwei] of told ?? []) hold('sync', gwei, ours.get(index) ?? 0)
  }
  return auditParts.map((part) => ({ epoch, part, ...(tallies.get(part) as Omit<AuditLine, 'epoch' | 'part'>) }))
}

/** An epoch that is audited again replaces what was kept. */
export async function keepAudit(facts: Facts, network: Network, lines: readonly AuditLine[]): Promise<void> {
  await facts.write(async (tx) => {
    for (const epoch of new Set(lines.map((line) => line.epoch))) {
      await tx.run('delete from beacon_audits where network = ? and epoch = ?', [network, epoch])
    }
    for (const { epoch, part, compared, differing, gwei } of lines) {
      await tx.run('insert into beacon_audits values (?, ?, ?, ?, ?, ?)', [
        network,
        epoch,
        part,
        compared,
        differing,
        gwei,
      ])
    }
  })
}

export const readAudit = (facts: FactsReader, network: Network): Promise<AuditLine[]> =>
  facts.query<AuditLine>(
    'select epoch, part, compared, differing, gwei from beacon_audits where network = ? order by epoch, part',
    [network],
  )
