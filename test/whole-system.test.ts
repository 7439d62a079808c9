// Whole-system runs (test/whole-system.ts). They need a process of their own, whose disk can be filled.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isLongRun, seedsOf } from './long.ts'
import { commandEnv } from './run-command.ts'
import { noTinyDisk, tinyDisk } from './tiny-disk.ts'
import { drawEvents, shrinkEvents } from './whole-system-events.ts'

const seedsCount = 1000
const seedsPerRun = 1
const eventsPerShortRun = 4
const diskMebibytes = 64

test('after days of faults, a server has every acknowledged write and the data of a clean one', async (t) => {
  const disk = await mkdtemp(join(tmpdir(), 'tetrad-disk-'))
  const seeds = seedsOf(seedsCount, seedsPerRun)
  const prefix = noTinyDisk ? [] : tinyDisk(disk, diskMebibytes)
  if (noTinyDisk) t.diagnostic(`without full disks: ${noTinyDisk}`)
  const options = [...(noTinyDisk ? [] : [`--disk=${disk}`]), isLongRun ? '--shrink' : `--first=${eventsPerShortRun}`]
  const file = join(import.meta.dirname, 'whole-system.ts')
  const [program = '', ...args] = [...prefix, process.execPath, file, ...options, ...seeds.map(String)]
  const child = spawn(program, args, { env: commandEnv(), stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      output += chunk
    })
  const [code] = await once(child, 'close')
  await rm(disk, { recursive: true, force: true })
  assert.equal(code, 0, output)
  assert.equal(output.trim().split('\n').length, seeds.length)
})

test('the events of a seed are always the same', () => {
  assert.deepEqual(drawEvents(7), drawEvents(7))
  assert.notDeepEqual(drawEvents(7), drawEvents(8))
})

test('a failing list of events is shortened to those that matter', async () => {
  const [first, second] = [
    { is: 'reorg', depth: 77 },
    { is: 'reorg', depth: 78 },
  ] as const
  const events = drawEvents(3).toSpliced(5, 0, first).toSpliced(14, 0, second)
  const fails = async (some: readonly object[]) => some.includes(first) && some.includes(second)
  assert.deepEqual(await shrinkEvents(events, fails), [first, second])
})
