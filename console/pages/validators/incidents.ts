// The incidents of a day, whose fault they are, and their texts, for the table of a day and for the verdict
// (behaviour/validators.md#whose-fault-a-missed-duty-is).
import type { ExplainedDay, ExplainedEpoch } from '#api/contract/wire/validators-explain.ts'

/** The worst first. `name` has its noun in the singular, `colour` is that of its epoch in the picture of a day. */
const incidentKinds = {
  slashed: { name: 'slashing', colour: 'var(--rating-5)', text: () => 'Validator was slashed' },
  noBlock: { name: 'missed block', colour: 'var(--rating-5)', text: () => 'Block was not proposed' },
  missed: {
    name: 'missed attestation',
    colour: 'var(--rating-5)',
    text: () => 'Attestation was not included in a block',
  },
  wrongTarget: {
    name: 'attestation with a wrong target',
    colour: 'var(--rating-4)',
    text: () => 'Attestation has a wrong target',
  },
  late: {
    name: 'late attestation',
    colour: 'var(--rating-3)',
    text: (slots: number | null) => `Attestation was included after ${slots} slots (best: 1)`,
  },
  wrongHead: { name: 'attestation with a wrong head', colour: 'var(--c7)', text: () => 'Attestation has a wrong head' },
  emptyBlock: {
    name: 'block with an empty payload',
    colour: 'var(--c9)',
    text: () => 'Proposed block has an empty payload',
  },
  ownPayload: {
    name: 'own payload missing from the chain',
    colour: 'var(--c9)',
    text: () => 'The payload that the validator built did not become part of the chain',
  },
  sync: {
    name: 'epoch with missed sync signatures',
    colour: 'var(--c6)',
    text: (count: number | null) => (count === 1 ? '1 sync signature missed' : `${count} sync signatures missed`),
  },
  withheld: {
    name: 'payload that a builder withheld',
    colour: 'var(--c9)',
    text: () => 'Builder did not deliver the payload of the proposed block in time',
  },
  payloadVote: {
    name: 'vote in a payload committee that the chain does not have or contradicts',
    colour: 'color-mix(in srgb, var(--c6) 45%, var(--card))',
    text: () => 'Vote in the payload committee is not on the chain, or contradicts it',
  },
}
type IncidentKind = keyof typeof incidentKinds
const kindNames = Object.keys(incidentKinds) as IncidentKind[]

export interface Incident {
  readonly epoch: number
  readonly slot: number | null
  readonly kind: IncidentKind
  /** Inclusion delay in slots, or the number of missed signatures. */
  readonly amount: number | null
  /** Who caused it. `none`: slots had no block. `both`: such a slot and the validator. `costless`: nothing was lost. */
  readonly fault: 'validator' | 'none' | 'both' | 'builder' | 'costless'
}

export const incidentsOfDay = ({ epochs, proposals }: Pick<ExplainedDay, 'epochs' | 'proposals'>): Incident[] =>
  epochs.flatMap((epoch) => incidentsOf(epoch, proposals))

/** `proposals`: the validator's blocks since Gloas. */
export function incidentsOf(
  { epoch, vote, ...rest }: ExplainedEpoch,
  proposals: ExplainedDay['proposals'] = [],
): Incident[] {
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
  const isGloas = (slot: number) => proposals.some((proposal) => proposal.slot === slot)
  incidents.push(...rest.emptyBlocks.map((slot) => incident(isGloas(slot) ? 'ownPayload' : 'emptyBlock', slot)))
  for (const slot of rest.withheldPayloads ?? []) incidents.push({ ...incident('withheld', slot), fault: 'builder' })
  if (rest.missedSyncSignatures > 0) incidents.push(incident('sync', null, rest.missedSyncSignatures))
  if (rest.slashedSlot !== null) incidents.push(incident('slashed', rest.slashedSlot))
  if (rest.payloadVote) incidents.push({ ...incident('payloadVote', rest.payloadVote.slot), fault: 'costless' })
  return incidents
}

/** Of a missed or late attestation. */
function faultOf({ delay, bestDelay, nextBlockMissing }: NonNullable<ExplainedEpoch['vote']>): Incident['fault'] {
  if (bestDelay === null || delay === bestDelay) return 'none'
  // A missing block explains why an attestation was late, but not why it was never included.
  return nextBlockMissing && delay !== null ? 'both' : 'validator'
}

export const faultLabels: Readonly<Record<Incident['fault'], string>> = {
  validator: 'the validator, as far as known',
  none: 'not the validator: there was no earlier block to include the attestation',
  both: 'partly the validator: the next slot had no block, but an earlier block could have included the attestation',
  builder: 'the builder, not the validator',
  costless: 'not known; votes of payload committees are neither rewarded nor penalized',
}

export const formatIncident = ({ kind, amount }: Incident): string => incidentKinds[kind].text(amount)

/** Counts by kind, the worst first: `2 missed blocks, 1 late attestation`. Empty without incidents. */
export function formatTally(incidents: readonly Incident[]): string {
  const counts = kindNames.map((kind) => [kind, incidents.filter((one) => one.kind === kind).length] as const)
  return counts
    .filter(([, count]) => count > 0)
    .map(([kind, count]) => `${count} ${count === 1 ? incidentKinds[kind].name : pluralOf(incidentKinds[kind].name)}`)
    .join(', ')
}

const pluralOf = (name: string): string => name.replace(/slashing|attestation|block|epoch|payload|vote/, '$&s')

/** The worst incident of an epoch that is the validator's fault, else `excused` if there is any other incident. */
type Cell = IncidentKind | 'excused' | 'fine'

export const cells: Readonly<Record<Cell, { readonly name: string; readonly colour: string }>> = {
  ...incidentKinds,
  excused: { name: 'not the validator’s fault', colour: 'color-mix(in srgb, var(--soft) 45%, var(--card))' },
  fine: { name: 'no problem', colour: 'var(--rating-1)' },
}

export function cellsOf(
  incidents: readonly Incident[],
  epochs: { readonly from: number; readonly until: number },
): Cell[] {
  const cells: Cell[] = Array.from({ length: Math.max(0, epochs.until - epochs.from) }, () => 'fine')
  const rank = (cell: Cell): number => (cell === 'fine' ? 99 : cell === 'excused' ? 98 : kindNames.indexOf(cell))
  for (const { epoch, kind, fault } of incidents) {
    const current = cells[epoch - epochs.from]
    const candidate: Cell = fault === 'none' || fault === 'builder' ? 'excused' : kind
    if (current !== undefined && rank(candidate) < rank(current)) cells[epoch - epochs.from] = candidate
  }
  return cells
}
