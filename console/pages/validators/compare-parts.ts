// What both kinds of comparison, of validators and of pools, have in common.
import type { ReactNode } from 'react'
import type { Network } from '#api/wire/validators.ts'
import type { Subjects } from './side-by-side.ts'

/** What is compared, as the address has it: validators, or two pools. */
export interface Chosen {
  readonly of: string
  readonly pool: string
  readonly against: string
}

/** What both kinds of comparison are given. */
export interface ComparisonProps {
  readonly network: Network
  readonly networkChoice: ReactNode
  readonly onChoose: (chosen: Partial<Chosen>) => void
  /** Draws them when it is known who they are. */
  readonly children: (parties: Subjects) => ReactNode
}
