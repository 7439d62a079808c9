// Tests of the length of a slot and of the times at which duties are due.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readRules } from './consensus.ts'
import { dueMs } from './slot-timing.ts'

test('the length of a slot is SLOT_DURATION_MS, or else SECONDS_PER_SLOT', () => {
  assert.equal(readRules({ SLOT_DURATION_MS: '6000' }).slotSeconds, 6)
  assert.equal(readRules({ SECONDS_PER_SLOT: '5' }).slotSeconds, 5)
  assert.equal(readRules({ SLOT_DURATION_MS: '2000', SECONDS_PER_SLOT: '2' }).slotSeconds, 2)
  assert.equal(readRules({ SLOT_DURATION_MS: '6000', SECONDS_PER_SLOT: '12' }).slotSeconds, 6)
})

test('a slot of no length or of parts of a second is rejected', () => {
  assert.throws(() => readRules({ SLOT_DURATION_MS: '1500' }), /SLOT_DURATION_MS is 1500; slots must be whole seconds/)
  assert.throws(() => readRules({ SLOT_DURATION_MS: '0' }), /SLOT_DURATION_MS/)
})

test('duties are due earlier from the first epoch of Gloas on', () => {
  const rules = readRules({ GLOAS_FORK_EPOCH: '4' })
  const dueIn = (epoch: number) =>
    (['attestation', 'payloadAttestation'] as const).map((duty) => dueMs(rules, duty, epoch))
  assert.deepEqual(dueIn(3), [3999, undefined])
  assert.deepEqual(dueIn(4), [3000, 9000])
})

test('without Gloas on the schedule, an attestation is due after a third of a slot', () => {
  const rules = readRules({ SLOT_DURATION_MS: '6000', GLOAS_FORK_EPOCH: '18446744073709551615' })
  assert.deepEqual(
    [dueMs(rules, 'attestation', 10 ** 6), dueMs(rules, 'payloadAttestation', 10 ** 6)],
    [1999, undefined],
  )
})

test('the basis points of the node apply, those that it omits are those of mainnet', () => {
  const rules = readRules({ GLOAS_FORK_EPOCH: '0', SLOT_DURATION_MS: '10000', ATTESTATION_DUE_BPS_GLOAS: '3000' })
  assert.deepEqual([dueMs(rules, 'attestation', 0), dueMs(rules, 'payloadAttestation', 0)], [3000, 7500])
  assert.throws(() => readRules({ ATTESTATION_DUE_BPS: '10001' }), /ATTESTATION_DUE_BPS is 10001/)
})

test('a node that schedules another length of slots is refused, with the epoch', () => {
  const rules = (schedule: unknown) => readRules({ SECONDS_PER_SLOT: '12', SLOT_DURATION_SCHEDULE: schedule })
  const entry = (EPOCH: string, SLOT_DURATION_MS: string) => ({ EPOCH, SLOT_DURATION_MS })
  for (const schedule of [undefined, [], [entry('0', '12000')], [entry('18446744073709551615', '6000')]])
    assert.equal(rules(schedule).slotSeconds, 12)
  const reason = /changes slots to 6000 ms at epoch 500000\. This version .* update Tetrad/
  assert.throws(() => rules([entry('0', '12000'), entry('500000', '6000')]), reason)
  assert.throws(() => rules([{ FORK: 'x' }]), /has the entry \{"FORK":"x"\}/)
})
