import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validatorStatus } from './validator-status.ts'

test('the status of a validator follows from its epochs', () => {
  const epochs = { activationEpoch: null, exitEpoch: null, withdrawableEpoch: null }
  assert.equal(validatorStatus(epochs, 100), 'pending')
  assert.equal(validatorStatus({ ...epochs, activationEpoch: 101 }, 100), 'pending')
  assert.equal(validatorStatus({ ...epochs, activationEpoch: 100 }, 100), 'active')
  assert.equal(
    validatorStatus({ ...epochs, activationEpoch: 5, exitEpoch: 101, withdrawableEpoch: 200 }, 100),
    'exiting',
  )
  assert.equal(
    validatorStatus({ ...epochs, activationEpoch: 5, exitEpoch: 100, withdrawableEpoch: 200 }, 100),
    'exited',
  )
  assert.equal(
    validatorStatus({ ...epochs, activationEpoch: 5, exitEpoch: 50, withdrawableEpoch: 100 }, 100),
    'withdrawable',
  )
})
