import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testWebhook } from '#test/alerts-network.ts'
import { settingsWith } from '#test/context.ts'
import { plainTime } from '../../duties/layout.ts'
import { deliveryBody } from './delivery-body.ts'
import { type EpochFindings, findAlerts } from './find-alerts.ts'

const settings = settingsWith({ validators: { webhooks: [testWebhook()] } }).validators
const [webhook] = settings.webhooks

const validator = (index: number) =>
  [index, { index, pool: null, operator: 'Ops', eligibilityEpoch: 0, activationEpoch: 0, exitEpoch: null }] as const

const findings = (changes: Partial<EpochFindings>): EpochFindings => ({
  ...{ epoch: 4, watched: new Map(), missedInARow: new Map(), missedBlocks: new Map(), emptyBlocks: new Map() },
  withheldPayloads: new Map(),
  ...{ slashings: new Map(), blockProblems: [], hourEarningsGwei: undefined, exitEpochs: undefined },
  ...changes,
})

test('an outage of more validators than a body lists is one event with their number', () => {
  assert(webhook)
  const indices = Array.from({ length: 150 }, (_, at) => 20 + at)
  const watched = new Map(indices.map(validator))
  const missedInARow = new Map(indices.map((index) => [index, 2]))
  const { alerts } = findAlerts(findings({ watched, missedInARow }), webhook, new Map())
  const [alert, ...others] = alerts
  assert(alert && others.length === 0)
  const time = plainTime(settings.networks.hoodi)
  const body = deliveryBody({ id: 'd-1', network: 'hoodi', time, nowMs: 0, alert, finality: 'finalized' })
  assert.equal(body.count, 150)
  assert.deepEqual(
    body.validators.map(({ index }) => index),
    indices.slice(0, 100),
  )
  assert.deepEqual(body.validators[0], { index: 20, pool: null, operator: 'Ops', missedInARow: 2, fromEpoch: 3 })
  const text = 'hoodi, epoch 4: 150 validators missed attestations in a row: 20, 21, 22, 23, 24 and 145 more'
  assert.equal(body.text, text)
  const atHead = deliveryBody({ id: 'd-1', network: 'hoodi', time, nowMs: 0, alert, finality: 'head' })
  assert.deepEqual([atHead.finality, atHead.text], ['head', text.replace('epoch 4', 'epoch 4 (not final)')])
})

test('problems of blocks are events with slots and fee recipients', () => {
  assert(webhook)
  const problem = { validator: 7, epoch: 4, slot: 36, feeRecipient: '0xb1' }
  const blockProblems = [
    { ...problem, duty: 'wrong_fee_recipient' },
    { ...problem, duty: 'unknown_relay' },
    { ...problem, slot: 38, duty: 'unknown_relay' },
  ] as const
  const { alerts } = findAlerts(findings({ watched: new Map([validator(7)]), blockProblems }), webhook, new Map())
  const about = { index: 7, pool: null, operator: 'Ops' }
  assert.deepEqual(alerts, [
    { event: 'fee_recipient_wrong', epoch: 4, validators: [{ ...about, slots: [36], feeRecipients: ['0xb1'] }] },
    { event: 'relay_unknown', epoch: 4, validators: [{ ...about, slots: [36, 38], feeRecipients: ['0xb1', '0xb1'] }] },
  ])
})
