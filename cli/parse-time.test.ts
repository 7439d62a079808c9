import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CommandFailure } from './failure.ts'
import { momentOf } from './parse-time.ts'

const nowMs = Date.UTC(2026, 10, 15, 12)

describe('--expires', () => {
  const accepted: readonly (readonly [string, number])[] = [
    ['30m', nowMs + 30 * 60_000],
    ['12h', nowMs + 12 * 3_600_000],
    ['90d', nowMs + 90 * 86_400_000],
    ['2w', nowMs + 14 * 86_400_000],
    ['2027-01-31', Date.UTC(2027, 0, 31)],
    ['2027-01-31T18:00:00Z', Date.UTC(2027, 0, 31, 18)],
    ['2027-01-31T18:00+02:00', Date.UTC(2027, 0, 31, 16)],
  ]
  for (const [text, expected] of accepted) {
    test(`accepts ${text}`, () => assert.equal(momentOf(text, nowMs), expected))
  }

  for (const text of [
    '',
    'soon',
    '90',
    '-5d',
    '1.5d',
    '2027-02-30',
    '2027-02-30T18:00:00Z',
    '2027-01-31T24:00:00Z',
    '2027-01-31T18:00:00',
    '2026-11-15',
    '0d',
    '999999999w',
  ]) {
    test(`refuses "${text}"`, () => assert.throws(() => momentOf(text, nowMs), CommandFailure))
  }
})
