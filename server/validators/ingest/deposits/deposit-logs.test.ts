import assert from 'node:assert/strict'
import { test } from 'node:test'
import { depositTopic, validateLogs } from './deposit-logs.ts'

const contract = `0x${'42'.repeat(20)}`
const range = { from: 10, until: 20 }
const log = { address: contract, topics: [depositTopic], blockNumber: '0xb', transactionHash: `0x${'ab'.repeat(32)}` }

test('a log with members of a wrong type is refused', () => {
  for (const topics of [undefined, null, 7, [], [7], [null], [{}]])
    assert.equal(validateLogs([{ ...log, topics }], contract, range), 'a log that was not requested')
  for (const address of [undefined, null, 7, {}])
    assert.equal(validateLogs([{ ...log, address }], contract, range), 'a log that was not requested')
  for (const data of [undefined, null, 7, '0x1'])
    assert.equal(validateLogs([{ ...log, data }], contract, range), 'a log without data')
  for (const raw of [null, {}, 'logs'])
    assert.equal(validateLogs(raw, contract, range), 'the result is not a list of logs')
  for (const entry of [null, 7, 'log'])
    assert.match(validateLogs([entry], contract, range) ?? '', /which was not requested/)
})
