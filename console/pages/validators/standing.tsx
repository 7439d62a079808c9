// Where a validator stands, in a word.
import type { Standing } from './chain-clock.ts'

const standings: Readonly<Record<Standing, readonly [tone: string, words: string]>> = {
  pending: ['warn', 'waiting to be activated'],
  active: ['good', 'active'],
  exiting: ['warn', 'on its way out'],
  exited: ['', 'exited'],
  withdrawable: ['', 'exited, withdrawable'],
}

export function StandingBadge({ standing }: { readonly standing: Standing }) {
  const [tone, words] = standings[standing]
  return <span className={`badge ${tone}`}>{words}</span>
}
