// Types that the comparisons of validators and of pools share.
import type { ReactNode } from 'react'
import type { Network } from '#api/wire/validators.ts'
import type { Subjects } from './side-by-side.ts'

/** The parameters of the address: validators, or two pools. */
export interface Chosen {
  readonly of: string
  readonly pool: string
  readonly against: string
}

export interface ComparisonProps {
  readonly network: Network
  readonly networkChoice: ReactNode
  readonly onChoose: (chosen: Partial<Chosen>) => void
  /** Shows the comparison once its validators are known. */
  readonly children: (subjects: Subjects) => ReactNode
}
