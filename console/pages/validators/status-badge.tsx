// The status of a validator as a badge.
import type { ValidatorStatus } from '#api/contract/wire/validators-find.ts'

const statusLabels: Readonly<Record<ValidatorStatus, readonly [tone: string, label: string]>> = {
  pending: ['warn', 'pending'],
  active: ['good', 'active'],
  exiting: ['warn', 'exiting'],
  exited: ['', 'exited'],
  withdrawable: ['', 'exited, withdrawable'],
}

interface StatusBadgeProps {
  readonly status: ValidatorStatus
  /** Comes first. */
  readonly isSlashed?: boolean
}

export function StatusBadge({ status, isSlashed = false }: StatusBadgeProps) {
  const [tone, label] = statusLabels[status]
  return (
    <>
      {isSlashed && <span className="badge status bad">slashed</span>}{' '}
      <span className={`badge status ${tone}`}>{label}</span>
    </>
  )
}
