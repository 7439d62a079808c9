// The steps of a funding trail for its diagram and table: the start address and every funder.
import type { AddressLabel, Trail, TrailEnd, TrailHop } from '#api/contract/wire/trail.ts'

export interface TrailStep {
  readonly address: string
  /** Hops back from the start address. */
  readonly hop: number
  readonly label?: AddressLabel
  /** The funding that this address paid; none for the start address. */
  readonly paid?: TrailHop
  /** Only at the last step: why the trail ends. */
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

/** Shown at the last node. */
const endLabels: Readonly<Record<TrailEnd, string>> = {
  label: 'labelled',
  genesis: 'origin',
  none: 'not funded',
  loop: 'loop',
  depth: 'continues',
  time: 'continues',
  unknown: 'unknown',
}

/** The text above the address of a node: its distance, and at the last node why the trail ends. */
export function captionOf({ hop, end }: TrailStep): string {
  const distance = hop === 0 ? 'start' : hop === 1 ? '1 hop back' : `${hop} hops back`
  return end ? `${distance} · ${endLabels[end]}` : distance
}

/** The next depth to request; undefined at the maximum of one request. */
export const deeper = (depth: number, depthMax: number): number | undefined =>
  depth < depthMax ? Math.min(depthMax, depth * 2) : undefined

export const truncate = (text: string, chars: number): string =>
  text.length > chars ? `${text.slice(0, chars - 1).trimEnd()}…` : text
