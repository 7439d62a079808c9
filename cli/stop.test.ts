import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '#runtime/clock.ts'
import { untilStopped } from './stop.ts'

function startWatched() {
  let endParent = () => {}
  let isWatching = false
  let closes = 0
  const stopped = untilStopped(new ManualClock(0), async () => void closes++, {
    report: () => {},
    isOnTerminal: () => false,
    watch: (action) => {
      endParent = () => isWatching && action()
      isWatching = true
      return () => {
        isWatching = false
      }
    },
  })
  return { stopped, endParent: () => endParent(), isWatching: () => isWatching, closes: () => closes }
}

test('the end of the shell that npm started the server in stops the server', async () => {
  const { stopped, endParent, closes } = startWatched()
  endParent()
  await stopped
  assert.equal(closes(), 1)
})

test('after a signal the end of the parent changes nothing', async (t) => {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    await t.test(signal, () => {
      const { isWatching, closes } = startWatched()
      assert.equal(isWatching(), true)
      process.emit(signal, signal)
      assert.equal(isWatching(), false)
      assert.equal(closes(), signal === 'SIGHUP' ? 0 : 1, 'without a terminal a hang-up does not stop the server')
    })
  }
})
