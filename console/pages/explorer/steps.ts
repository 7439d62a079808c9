// A trail as what a picture and a table show of it: the addresses from the asked one back, and why it ends.
import type { AddressLabel, Trail, TrailEnd, TrailHop } from '#api/wire/trail.ts'

export interface TrailStep {
  readonly address: string
  /** Hops back from the asked address. */
  readonly hop: number
  readonly label?: AddressLabel
  /** The funding that leads here; none for the asked address itself. */
  readonly paid?: TrailHop
  /** Only at the last one. */
  readonly end?: TrailEnd
}

export function stepsOf({ address, label, hops, end }: Trail): readonly TrailStep[] {
  const steps: TrailStep[] = [
    { address, hop: 0, ...(label && { label }) },
    ...hops.map((paid, index) => ({
      address: paid.fundingAddress,
      hop: index + 1,
      ...(paid.label && { label: paid.label }),
      paid,
    })),
  ]
  return steps.map((step, index) => (index === steps.length - 1 ? { ...step, end: end.reason } : step))
}

/** One or two words at the last node. */
const endLabels: Readonly<Record<TrailEnd, string>> = {
  label: 'named',
  genesis: 'origin',
  none: 'never funded',
  loop: 'seen before',
  depth: 'goes on',
  time: 'goes on',
  unknown: 'not known',
}

/** Above a node: how far back it is, and what it is to the trail. */
export function captionOf({ hop, end }: TrailStep): string {
  const distance = hop === 0 ? 'asked for' : hop === 1 ? '1 hop back' : `${hop} hops back`
  return end ? `${distance} · ${endLabels[end]}` : distance
}

/** What to ask for next when a trail goes on; undefined when one call can go no deeper. */
export const deeper = (depth: number, depthMax: number): number | undefined =>
  depth < depthMax ? Math.min(depthMax, depth * 2) : undefined

export const truncate = (text: string, chars: number): string =>
  text.length > chars ? `${text.slice(0, chars - 1).trimEnd()}…` : text
