// A watch file that changes while a server runs (behaviour/validators.md#watch-lists).

import assert from 'node:assert/strict'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '#runtime/clock.ts'
import type { Log } from '#runtime/log.ts'
import { openNodeOfRun } from '#test/client-of-run.ts'
import { openContext } from '#test/context.ts'
import { simulateNetwork } from '#test/simulator/simulate-network.ts'
import { waitUntil } from '#test/wait-until.ts'
import { coveredEpochs } from '../../duties/coverage.ts'
import { keptEpochs } from '../../duties/watch-ranges.ts'
import { readValidator } from '../../registry/registry.ts'
import { withChainTimes } from '../read/chain-identity.ts'
import { startBeacon } from '../start.ts'
import { readIngestStatus } from '../status/ingest-status.ts'

type Line = { readonly message: string } & Readonly<Record<string, unknown>>

/** In one step, so that no poll reads half of it. */
async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
}

test('a changed watch file is used without a restart: added validators are registered and get their past', async () => {
  let finalized = 8
  const chain = simulateNetwork('watch file', { epochs: 12, outage: { from: 0, until: 0 } })
  await using node = await openNodeOfRun(chain, { finalized: () => finalized })
  await using files = await openContext()
  const watchFile = join(files.dir, 'watch.txt')
  const beacon = { urls: [node.url], fromEpoch: 0, everyMs: 100 }
  const hoodi = { epochsPerHour: 3, epochsPerDay: 6, watchFile, beacon }
  await using plain = await openContext({ validators: { networks: { hoodi: hoodi } } })
  const settings = await withChainTimes({ ...plain, clock: systemClock })
  const lines: Line[] = []
  const add = (fields: object, message: string) => void lines.push({ ...fields, message })
  const log = { ...plain.log, info: add, warn: add } as unknown as Log
  const context = { ...plain, settings, log, clock: systemClock }
  /** Waits until a line with these fields has been logged. */
  const logged = async (expected: Line): Promise<Line> => {
    const isExpected = (line: Line) => Object.entries(expected).every(([name, value]) => line[name] === value)
    await waitUntil(() => lines.some(isExpected))
    return lines.find(isExpected) as Line
  }
  const kept = async (validator: number) =>
    keptEpochs(context.duties, 'hoodi', await coveredEpochs(context.duties, 'hoodi'), [validator])
  const stop = new AbortController()

  await replaceFile(watchFile, '2\ntwo\n')
  const running = startBeacon(context, stop.signal)
  await using cleanup = new AsyncDisposableStack()
  cleanup.defer(async () => {
    stop.abort()
    await running
  })
  const refused = await logged({ message: 'network not read' })
  assert.match(String(refused.reason), /watch\.txt, line 2: "two" is not an index/)
  assert.deepEqual(await coveredEpochs(context.duties, 'hoodi'), [])

  await replaceFile(watchFile, '2\n')
  await logged({ message: 'epochs stored', until: 7 })
  assert.equal(await readValidator(context.ingest, 'hoodi', 9), undefined)

  await replaceFile(watchFile, '2\n9\n')
  await logged({ message: 'watch file reloaded', names: 2 })
  finalized = 9
  await logged({ message: 'watch list changed', fromEpoch: 7, added: 1, removed: 0 })
  await logged({
    message: 'earlier epochs of added validators stored',
    from: 6,
    until: 7,
    validators: 1,
    epochsLeft: 0,
  })
  assert.deepEqual(await kept(9), [{ from: 0, until: 8 }])
  assert.equal((await readValidator(context.ingest, 'hoodi', 9))?.index, 9)
  assert.equal((await readIngestStatus(context, { network: 'hoodi' })).missingPastEpochs, 0)

  await replaceFile(watchFile, '2\nnine\n')
  const problem = await logged({ message: 'watch file is not valid; the previous list stays in force' })
  assert.match(String(problem.reason), /line 2: "nine"/)
  finalized = 10
  await logged({ message: 'epochs stored', until: 9 })
  assert.deepEqual(await kept(9), [{ from: 0, until: 9 }])
})
