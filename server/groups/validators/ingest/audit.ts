// Two ways to know what validators were paid: the consensus rules over the blocks, which is what the ratings rest on, and
// the node's own rewards endpoints. This holds one against the other; the difference is kept and shown. Ingest does so with
// a sample of every epoch (decision 0076), the command with whole epochs.
import { type Network, networks } from '#api/wire/validators.ts'
import { merge } from '#core/ranges.ts'
import type { Beacon } from '#io/beacon/client.ts'
import type { Facts, FactsReader, FactsWriter } from '#store/facts.ts'
import { Asker } from './ask.ts'
import type { Moved } from './earnings.ts'
import { EpochReader } from './read.ts'
import { type Carry, type Refined, refineEpoch } from './refine.ts'
import { settle } from './settle.ts'
import { Sums } from './sums.ts'

const auditParts = ['source', 'target', 'head', 'inactivity', 'block', 'sync'] as const
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

/** Another part of the network with every epoch, so that in time everyone is compared. */
export function sampleOf(epoch: number, { pay, effects }: Refined, size: number): AuditSample {
  const count = pay.eligible.length
  const first = (epoch * size) % Math.max(1, count)
  const validators = Array.from({ length: Math.min(size, count) }, (_, at) => (first + at) % count)
  const block = effects[epoch % Math.max(1, effects.length)]
  return { validators: validators.filter((index) => pay.eligible[index] === 1), slots: block ? [block.slot] : [] }
}

export async function compare(
  ask: Asker,
  epoch: number,
  { pay, effects }: Refined,
  sample?: AuditSample,
): Promise<AuditLine[]> {
  const tallies = new Map(auditParts.map((part) => [part, { compared: 0, differing: 0, gwei: 0 }]))
  const hold = (part: AuditPart, node: number, ours: number) => {
    const tally = tallies.get(part) as { compared: number; differing: number; gwei: number }
    tally.compared += 1
    if (node === ours) return
    tally.differing += 1
    tally.gwei += node - ours
  }
  // An empty list would ask for everyone.
  const told = sample?.validators.length === 0 ? undefined : await ask.voteRewards(epoch, sample?.validators)
  for (const [index, own] of told ?? []) {
    for (const part of ['source', 'target', 'head', 'inactivity'] as const) hold(part, own[part], pay[part][index] ?? 0)
  }
  for (const one of effects) {
    if (sample && !sample.slots.includes(one.slot)) continue
    const block = await ask.blockReward(one.slot)
    if (block) hold('block', block.votes + block.sync + block.slashings, one.votes + one.sync + one.slashings)
    const ours = new Map<number, number>()
    for (const { validator, signed } of one.seats) {
      ours.set(validator, (ours.get(validator) ?? 0) + (signed ? one.syncSeat : 0 - one.syncSeat))
    }
    for (const [index, gwei] of (await ask.syncRewards(one.slot)) ?? []) hold('sync', gwei, ours.get(index) ?? 0)
  }
  return auditParts.map((part) => ({ epoch, part, ...(tallies.get(part) as Omit<AuditLine, 'epoch' | 'part'>) }))
}

export const keepAudit = (facts: Facts, network: Network, lines: readonly AuditLine[]): Promise<void> =>
  facts.write((tx) => writeAudit(tx, network, lines))

/** For the control socket: lines that a command found beside the server, `{network, lines}`. */
export async function keepTold(facts: Facts, input: unknown): Promise<void> {
  const { network, lines } = (input ?? {}) as { network?: unknown; lines?: unknown }
  const known = networks.find((one) => one === network)
  if (!known || !Array.isArray(lines) || lines.length > linesMax || !lines.every(isLine))
    throw new Error(`lines of an audit are {network, lines}, at most ${linesMax}`)
  await keepAudit(facts, known, lines)
}

/** An epoch has one of each part, and is told at once. */
const linesMax = 64

function isLine(given: unknown): given is AuditLine {
  const { part, epoch, compared, differing, gwei } = (given ?? {}) as Partial<Record<keyof AuditLine, unknown>>
  const areWhole = [epoch, compared, differing, gwei].every(Number.isSafeInteger)
  return areWhole && auditParts.some((one) => one === part)
}

/** An epoch that is audited again replaces what was kept. */
export async function writeAudit(tx: FactsWriter, network: Network, lines: readonly AuditLine[]): Promise<void> {
  const epochs = merge(lines.map(({ epoch }) => ({ from: epoch, until: epoch + 1 })))
  for (const { from, until } of epochs) await tx.remove('beacon_audits', { key: network, from, until })
  if (lines.length === 0) return
  const column = <F extends keyof AuditLine>(field: F) => lines.map((line) => line[field])
  await tx.append('beacon_audits', {
    network: lines.map(() => network),
    epoch: column('epoch'),
    part: column('part'),
    compared: column('compared'),
    differing: column('differing'),
    gwei: column('gwei'),
  })
}

/** Of the epochs from here on: how many figures were compared, and how many differ. */
export async function auditTotals(
  facts: FactsReader,
  network: Network,
  fromEpoch: number,
): Promise<Pick<AuditLine, 'compared' | 'differing'>> {
  const [row] = await facts.query<{ compared: number; differing: number }>(
    `select coalesce(sum(compared), 0) as compared, coalesce(sum(differing), 0) as differing
     from beacon_audits where network = ? and epoch >= ?`,
    [network, fromEpoch],
  )
  return row ?? { compared: 0, differing: 0 }
}

/** Balances that moved otherwise than by duties. */
export async function writeMoved(
  tx: FactsWriter,
  network: Network,
  moved: readonly (Moved & { readonly epoch: number })[],
): Promise<void> {
  if (moved.length === 0) return
  await tx.append('beacon_moved', {
    network: moved.map(() => network),
    epoch: moved.map(({ epoch }) => epoch),
    validators: moved.map(({ validators }) => validators),
    in_gwei: moved.map(({ inGwei }) => inGwei),
    out_gwei: moved.map(({ outGwei }) => outGwei),
  })
}
