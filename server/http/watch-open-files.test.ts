import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextEventLoopTurn } from '#runtime/clock.ts'
import { openLog } from '#runtime/log.ts'
import { everyone } from '#test/authorization.ts'
import { openContext } from '#test/context.ts'
import { createApp } from './pipeline.ts'
import { watchOpenFiles } from './watch-open-files.ts'

test('a server that runs out of descriptors warns once an hour, with what to do', async () => {
  await using context = await openContext()
  const lines: string[] = []
  const log = openLog('info', (line) => lines.push(JSON.parse(line).msg))
  const app = createApp({ ...context, log }, [], everyone, { request: () => {} })
  let open = 899
  const stop = watchOpenFiles(app, async () => ({ open, max: 1000 }))
  const pass = async (seconds: number) => {
    context.clock.advance(seconds * 1000)
    await nextEventLoopTurn()
  }
  await pass(10)
  assert.deepEqual(lines, [])
  open = 900
  for (let count = 0; count < 5; count++) await pass(10)
  assert.equal(lines.length, 1)
  assert.match(lines[0] ?? '', /^the server runs out of file descriptors: 900 of 1000 are open.+LimitNOFILE/)
  await pass(3600)
  assert.equal(lines.length, 2)
  stop()
  app.deadlines.close()
})
