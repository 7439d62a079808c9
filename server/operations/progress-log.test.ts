import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openLog } from '#runtime/log.ts'
import type { StreamView } from '#shared/console-calls.ts'
import { openContext } from '#test/context.ts'
import type { Coverage } from './coverage.ts'
import { startProgressLog } from './progress-log.ts'
import { progressText, rateText } from './progress-text.ts'

const chain: StreamView = {
  ...{ group: 'explorer', name: 'chain 1', from: 0, until: 1000, read: 241, gaps: [], gapsCount: 1 },
  ...{ target: 1000, share: 0.241, remaining: 759, perSecond: null, remainingSeconds: null },
  ...{ ageSeconds: null, gapless: false, fresh: false, status: 'catching up' },
}

test('a stream that is behind is logged when its rate is known, every ten minutes, and when it has caught up', async () => {
  await using context = await openContext()
  const lines: string[] = []
  const log = openLog('info', (line) => lines.push(line))
  let stream = chain
  const coverage = async () => ({ at: '', gapless: false, fresh: false, streams: [stream] }) satisfies Coverage
  const stop = startProgressLog({ clock: context.clock, log }, coverage)
  const passMinutes = async (count: number) => {
    for (let minutes = 0; minutes < count; minutes++) {
      context.clock.advance(60_000)
      await new Promise(setImmediate)
    }
  }
  await passMinutes(3)
  assert.deepEqual(lines, [])
  stream = { ...chain, perSecond: 2, remainingSeconds: 380 }
  await passMinutes(1)
  const { msg, level, time, ...fields } = JSON.parse(lines[0] ?? '{}')
  assert.equal(msg, 'catching up')
  assert.deepEqual(fields, { stream: 'chain 1', read: '24.10 %', rate: '2 blocks/s', left: '6 min' })
  await passMinutes(9)
  assert.equal(lines.length, 1)
  await passMinutes(1)
  assert.equal(lines.length, 2)
  stream = { ...chain, status: 'healthy', remaining: 0 }
  await passMinutes(5)
  assert.deepEqual([lines.length, JSON.parse(lines[2] ?? '{}').msg], [3, 'caught up'])
  stop()
  stream = chain
  await passMinutes(20)
  assert.equal(lines.length, 3)
})

test('what is not known is left out', () => {
  assert.equal(progressText({ ...chain, share: null }), '')
  assert.equal(progressText({ ...chain, perSecond: 0 }), '24.10 % read, 0 blocks/s')
  assert.equal(
    progressText({ ...chain, share: 0.9999, perSecond: 120, remainingSeconds: 7 }),
    '99.99 % read, 120 blocks/s, 7 s left',
  )
  assert.equal(rateText({ group: 'validators', perSecond: 0.156 }), '9.4 epochs/min')
})
