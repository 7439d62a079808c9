// The incidents of a day and their texts. An attestation is included in the next slot at the earliest. If that slot has no
// block, the delay is not the validator's fault.
import type { ExplainedEpoch } from '#api/wire/validators-explain.ts'

/** The worst first. */
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
type IncidentKind = (typeof incidentKinds)[number]

export interface Incident {
  readonly epoch: number
  readonly slot: number | null
  readonly kind: IncidentKind
  /** Inclusion delay in slots, or the number of missed signatures. */
  readonly amount: number | null
  /** Whether the validator caused it: `own` yes, `none` no, `both` partly. */
  readonly fault: 'validator' | 'none' | 'both'
}

export function incidentsOf({ epoch, vote, ...rest }: ExplainedEpoch): Incident[] {
  const incident = (kind: IncidentKind, slot: number | null, amount: number | null = null): Incident => ({
    epoch,
    slot,
    kind,
    amount,
    fault: 'validator',
  })
  const incidents: Incident[] = []
  if (vote && !vote.included) incidents.push({ ...incident('missed', vote.slot), fault: faultOf(vote) })
  if (vote?.delay && vote.delay > 1)
    incidents.push({ ...incident('late', vote.slot, vote.delay), fault: faultOf(vote) })
  if (vote?.targetCorrect === false) incidents.push(incident('wrongTarget', vote.slot))
  if (vote?.headCorrect === false) incidents.push(incident('wrongHead', vote.slot))
  incidents.push(...rest.missedBlocks.map((slot) => incident('noBlock', slot)))
  incidents.push(...rest.emptyBlocks.map((slot) => incident('emptyBlock', slot)))
  if (rest.missedSyncSignatures > 0) incidents.push(incident('sync', null, rest.missedSyncSignatures))
  if (rest.slashedSlot !== null) incidents.push(incident('slashed', rest.slashedSlot))
  return incidents
}

function faultOf({ delay, bestDelay, nextBlockMissing }: NonNullable<ExplainedEpoch['vote']>): Incident['fault'] {
  if (bestDelay === null || delay === bestDelay) return 'none'
  return nextBlockMissing ? 'both' : 'validator'
}

export const faultLabels: Readonly<Record<Incident['fault'], string>> = {
  validator: 'the validator, as far as known',
  none: 'not the validator: there was no earlier block to include the attestation',
  both: 'partly the validator: the next slot had no block, but a later block could have included the attestation',
}

const kindLabels: Readonly<Record<IncidentKind, readonly [one: string, many: string]>> = {
  slashed: ['slashing', 'slashings'],
  noBlock: ['missed block', 'missed blocks'],
  missed: ['missed attestation', 'missed attestations'],
  wrongTarget: ['attestation with a wrong target', 'attestations with a wrong target'],
  late: ['late attestation', 'late attestations'],
  wrongHead: ['attestation with a wrong head', 'attestations with a wrong head'],
  emptyBlock: ['block with an empty payload', 'blocks with an empty payload'],
  sync: ['epoch with missed sync signatures', 'epochs with missed sync signatures'],
}

const incidentTexts: Readonly<Record<IncidentKind, (amount: number | null) => string>> = {
  missed: () => 'Attestation was not included in a block',
  late: (slots) => `Attestation was included after ${slots} slots (best: 1)`,
  wrongTarget: () => 'Attestation has a wrong target',
  wrongHead: () => 'Attestation has a wrong head',
  noBlock: () => 'Block was not proposed',
  emptyBlock: () => 'Proposed block has an empty payload',
  sync: (count) => (count === 1 ? '1 sync signature missed' : `${count} sync signatures missed`),
  slashed: () => 'Validator was slashed',
}

export const formatIncident = ({ kind, amount }: Incident): string => incidentTexts[kind](amount)

/** Counts by kind, the worst first: `2 missed blocks, 1 late attestation`. Empty without incidents. */
export function formatTally(incidents: readonly Incident[]): string {
  const times = (kind: IncidentKind): number => incidents.filter((incident) => incident.kind === kind).length
  return incidentKinds
    .filter((kind) => times(kind) > 0)
    .map((kind) => `${times(kind)} ${kindLabels[kind][times(kind) === 1 ? 0 : 1]}`)
    .join(', ')
}

/** The worst incident of an epoch that is the validator's fault, else `excused` if there is any other incident. */
export type Cell = IncidentKind | 'excused' | 'fine'

export function cellsOf(
  incidents: readonly Incident[],
  epochs: { readonly from: number; readonly until: number },
): Cell[] {
  const cells: Cell[] = Array.from({ length: Math.max(0, epochs.until - epochs.from) }, () => 'fine')
  const rank = (cell: Cell): number => (cell === 'fine' ? 99 : cell === 'excused' ? 98 : incidentKinds.indexOf(cell))
  for (const { epoch, kind, fault } of incidents) {
    const current = cells[epoch - epochs.from]
    const candidate: Cell = fault === 'none' ? 'excused' : kind
    if (current !== undefined && rank(candidate) < rank(current)) cells[epoch - epochs.from] = candidate
  }
  return cells
}
