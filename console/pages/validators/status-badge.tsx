// Where a validator stands, in a word.
import type { ValidatorStatus } from './chain-clock.ts'

const statusLabels: Readonly<Record<ValidatorStatus, readonly [tone: string, words: string]>> = {
  pending: ['warn', 'waiting to be activated'],
  active: ['good', 'active'],
  exiting: ['warn', 'on its way out'],
  exited: ['', 'exited'],
  withdrawable: ['', 'exited, withdrawable'],
}

export function StatusBadge({ standing }: { readonly standing: ValidatorStatus }) {
  const [tone, words] = statusLabels[standing]
  return <span className={`badge ${tone}`}>{words}</span>
}
