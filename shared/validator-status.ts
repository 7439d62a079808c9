// The status of a validator, computed from the epochs of its life.
import type { ValidatorStatus } from '#api/contract/wire/validators-find.ts'
import type { ValidatorMetadata } from '#api/contract/wire/validators-metadata.ts'

type Epochs = Pick<ValidatorMetadata, 'activationEpoch' | 'exitEpoch' | 'withdrawableEpoch'>

export function validatorStatus(
  { activationEpoch, exitEpoch, withdrawableEpoch }: Epochs,
  epoch: number,
): ValidatorStatus {
  if (activationEpoch === null || activationEpoch > epoch) return 'pending'
  if (exitEpoch === null) return 'active'
  if (exitEpoch > epoch) return 'exiting'
  return withdrawableEpoch !== null && withdrawableEpoch <= epoch ? 'withdrawable' : 'exited'
}
