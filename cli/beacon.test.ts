// `tetrad ingest beacon`, `validators audit` and `validators explain` as child processes, against a recorded node over HTTP.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { openStores } from '#store/open.ts'
import { openReplay } from '#test/beacon-replay.ts'
import { openFolder, run } from './run.ts'

async function openScene() {
  const node = await openReplay()
  const folder = await openFolder()
  const networks = { hoodi: { epochsPerHour: 2, epochsPerDay: 4, beacon: { urls: [node.url], fromEpoch: 0 } } }
  await writeFile(join(folder.dir, 'tetrad.yaml'), JSON.stringify({ validators: { networks } }))
  return {
    dir: folder.dir,
    run: (...args: string[]) => run(args, { cwd: folder.dir }),
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]()
      await node[Symbol.asyncDispose]()
    },
  }
}

test('ingest beacon --once reads everything that is final, and a second time nothing', async () => {
  await using at = await openScene()
  const first = await at.run('ingest', 'beacon', '--network', 'hoodi', '--once', '--json')
  assert.equal(first.code, 0, first.stderr)
  const { network, until, finalizedEpoch, written } = JSON.parse(first.stdout)
  assert.deepEqual(
    { network, until, finalizedEpoch, written },
    { network: 'hoodi', until: 13, finalizedEpoch: 14, written: 13 },
  )
  const second = await at.run('ingest', 'beacon', '--network', 'hoodi', '--once', '--json')
  assert.equal(JSON.parse(second.stdout).written, 0)
})

test('ingest beacon says what to do while somebody else holds the facts', async () => {
  await using at = await openScene()
  const stores = await openStores(join(at.dir, 'data'))
  try {
    const { code, stderr } = await at.run('ingest', 'beacon', '--network', 'hoodi', '--once')
    assert.equal(code, 1)
    assert.match(stderr, /facts\.duckdb is held by another process, most likely a running server/)
  } finally {
    await stores.close()
  }
})

test('without a beacon node the setting that is missing is named', async () => {
  await using at = await openScene()
  const { code, stderr } = await at.run('ingest', 'beacon', '--network', 'holesky', '--once')
  assert.equal(code, 1)
  assert.match(stderr, /validators\.networks\.holesky\.beacon\.urls/)
})

test('an audit of the recorded node finds that both ways agree, and keeps that', async () => {
  await using at = await openScene()
  const { code, stdout, stderr } = await at.run(
    'validators',
    'audit',
    '--network',
    'hoodi',
    '--from-epoch',
    '2',
    '--until-epoch',
    '5',
    '--json',
  )
  assert.equal(code, 0, stderr)
  const lines = JSON.parse(stdout) as { part: string; compared: number; differing: number; gwei: number }[]
  assert.equal(lines.length, 18)
  assert(
    lines.every(({ compared, differing, gwei }) => compared > 0 && differing === 0 && gwei === 0),
    stdout,
  )
  const stores = await openStores(join(at.dir, 'data'))
  const [kept] = await stores.facts.query<{ count: number }>('select count(*) as count from beacon_audits')
  await stores.close()
  assert.equal(kept?.count, 18)
})

test('an explanation names what was missed and whether the next block was missing', async () => {
  await using at = await openScene()
  const { code, stdout, stderr } = await at.run(
    'validators',
    'explain',
    '1',
    '--network',
    'hoodi',
    '--from-epoch',
    '6',
    '--until-epoch',
    '8',
    '--json',
  )
  assert.equal(code, 0, stderr)
  const { epochs } = JSON.parse(stdout)
  assert.deepEqual(epochs[1].vote, {
    slot: 56,
    included: false,
    delay: null,
    target: false,
    head: false,
    nextBlockMissing: false,
  })
  assert.deepEqual(epochs[1].faults, ['vote of slot 56 is missing'])
  const plain = await at.run('validators', 'explain', '1', '--network', 'hoodi', '--from-epoch', '7')
  assert.match(plain.stdout, /epoch 7: vote of slot 56 is missing\n0 of 1 epochs without a fault/)
})
