// The status of a validator as a badge.
import type { ValidatorStatus } from '#api/contract/wire/validators-find.ts'

const statusLabels: Readonly<Record<ValidatorStatus, readonly [tone: string, label: string]>> = {
  pending: ['warn', 'pending'],
  active: ['good', 'active'],
  exiting: ['warn', 'exiting'],
  exited: ['', 'exited'],
  withdrawable: ['', 'exited, withdrawable'],
}

export function StatusBadge({ status }: { readonly status: ValidatorStatus }) {
  const [tone, label] = statusLabels[status]
  return <span className={`badge status ${tone}`}>{label}</span>
}
