// What went wrong in a day, one entry for each thing, and how to say it. A vote goes into the block of the next slot at best:
// where that slot had no block, being late is the missing block's fault.
import type { ExplainedEpoch } from '#api/wire/validators-explain.ts'

/** The gravest first. */
const incidentKinds = [
  'slashed',
  'noBlock',
  'missed',
  'wrongTarget',
  'late',
  'wrongHead',
  'emptyBlock',
  'sync',
] as const
export type IncidentKind = (typeof incidentKinds)[number]

export interface Incident {
  readonly epoch: number
  readonly slot: number | null
  readonly kind: IncidentKind
  /** Slots a vote took, or signatures that lack. */
  readonly amount: number | null
  /** Whose fault it was, as far as can be told: its own, none of its, or both. */
  readonly fault: 'own' | 'none' | 'both'
}

/** Every thing that went wrong in an epoch. */
export function incidentsOf({ epoch, vote, ...rest }: ExplainedEpoch): Incident[] {
  const of = (kind: IncidentKind, slot: number | null, amount: number | null = null): Incident => ({
    epoch,
    slot,
    kind,
    amount,
    fault: 'own',
  })
  const found: Incident[] = []
  if (vote && !vote.included) found.push({ ...of('missed', vote.slot), fault: faultOf(vote) })
  if (vote?.delay && vote.delay > 1) found.push({ ...of('late', vote.slot, vote.delay), fault: faultOf(vote) })
  if (vote?.targetCorrect === false) found.push(of('wrongTarget', vote.slot))
  if (vote?.headCorrect === false) found.push(of('wrongHead', vote.slot))
  found.push(...rest.missedBlocks.map((slot) => of('noBlock', slot)))
  found.push(...rest.emptyBlocks.map((slot) => of('emptyBlock', slot)))
  if (rest.missedSyncSignatures > 0) found.push(of('sync', null, rest.missedSyncSignatures))
  if (rest.slashedSlot !== null) found.push(of('slashed', rest.slashedSlot))
  return found
}

/** No vote can be taken before there is a block to take it. */
function faultOf({ delay, bestDelay, nextBlockMissing }: NonNullable<ExplainedEpoch['vote']>): Incident['fault'] {
  if (bestDelay === null || delay === bestDelay) return 'none'
  return nextBlockMissing ? 'both' : 'own'
}

export const faultLabels: Readonly<Record<Incident['fault'], string>> = {
  own: 'its own, as far as can be told',
  none: 'not this validator’s fault: there was no earlier block to take its vote',
  both: 'partly not this validator’s fault: the next slot had no block, but a later one could have taken its vote',
}

const kindLabels: Readonly<Record<IncidentKind, readonly [one: string, many: string]>> = {
  slashed: ['slashing', 'slashings'],
  noBlock: ['block not made', 'blocks not made'],
  missed: ['vote missing', 'votes missing'],
  wrongTarget: ['vote for a wrong target', 'votes for a wrong target'],
  late: ['vote late', 'votes late'],
  wrongHead: ['vote for a wrong head', 'votes for a wrong head'],
  emptyBlock: ['block with an empty payload', 'blocks with an empty payload'],
  sync: ['epoch with sync signatures missing', 'epochs with sync signatures missing'],
}

export function formatIncident({ kind, amount }: Incident): string {
  switch (kind) {
    case 'missed':
      return 'Its vote never got into a block'
    case 'late':
      return `Its vote took ${amount} slots to get into a block; 1 is best`
    case 'wrongTarget':
      return 'Its vote named a wrong target'
    case 'wrongHead':
      return 'Its vote named a wrong head of the chain'
    case 'noBlock':
      return 'It was to make a block and made none'
    case 'emptyBlock':
      return 'The block it made has an empty payload'
    case 'sync':
      return amount === 1 ? 'A sync signature is missing' : `${amount} sync signatures are missing`
    case 'slashed':
      return 'It was slashed'
  }
}

/** How often each thing happened, the gravest first: `2 blocks not made, 1 vote late`; empty when nothing did. */
export function formatTally(incidents: readonly Incident[]): string {
  const times = (kind: IncidentKind): number => incidents.filter((incident) => incident.kind === kind).length
  return incidentKinds
    .filter((kind) => times(kind) > 0)
    .map((kind) => `${times(kind)} ${kindLabels[kind][times(kind) === 1 ? 0 : 1]}`)
    .join(', ')
}

/** What a cell of the day's picture shows: the gravest thing of its epoch that is the validator's, otherwise an excused one. */
export type Cell = IncidentKind | 'excused' | 'fine'

export function cellsOf(
  incidents: readonly Incident[],
  epochs: { readonly from: number; readonly until: number },
): Cell[] {
  const cells: Cell[] = Array.from({ length: Math.max(0, epochs.until - epochs.from) }, () => 'fine')
  const gravity = (cell: Cell): number => (cell === 'fine' ? 99 : cell === 'excused' ? 98 : incidentKinds.indexOf(cell))
  for (const { epoch, kind, fault } of incidents) {
    const before = cells[epoch - epochs.from]
    const now: Cell = fault === 'none' ? 'excused' : kind
    if (before !== undefined && gravity(now) < gravity(before)) cells[epoch - epochs.from] = now
  }
  return cells
}
