import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { startedCursor } from '#simulator/demo-mark.ts'
import { moveCursor } from '#storage/coverage.ts'
import { openState } from '#storage/open.ts'
import { openFolder, runCommand } from '#test/run-command.ts'

const uuid = '01890000-0000-4000-8000-000000000001'

/** Every command that opens the databases. */
const commands = [
  'serve --port 0',
  'keys create --name a --plan free',
  'keys list',
  'keys rotate a',
  'keys edit a --plan lite',
  'keys revoke a',
  'keys usage',
  'labels add --chain 1 --name A',
  'labels edit a --name B',
  'labels remove a',
  'labels history',
  'labels import labels.json',
  'labels export',
  'trail 0x1111111111111111111111111111111111111111',
  'ingest evm --chain 1 --once',
  'ingest beacon --once',
  'repair --chain 1',
  'import markets markets.json',
  'import entities entities.json --network mainnet',
  'markets drift',
  'markets rejects',
  'fx sources',
  'fx rate set EUR/USD 1.1',
  'fx history EUR/USD',
  `fx quote ${uuid}`,
  `fx receipt ${uuid}`,
  'fx rotate-receipt-key',
  'coverage',
  'backup copy',
  'console link',
]

const config = `
log: { level: error }
explorer: { chains: [{ id: '1', name: One, mode: index, rpc: [{ url: 'http://127.0.0.1:9' }] }] }
validators: { networks: { mainnet: { beacon: { urls: ['http://127.0.0.1:9'], timeoutMs: 200 } } } }
fx: { sources: [{ id: desk, kind: push }] }
`

describe('a folder with demo data, in a configured installation', { concurrency: 2 }, () => {
  let home: Awaited<ReturnType<typeof openFolder>>
  before(async () => {
    home = await openFolder()
    await writeFile(join(home.dir, 'tetrad.yaml'), config)
    for (const name of ['labels', 'markets', 'entities']) await writeFile(join(home.dir, `${name}.json`), '[]')
    const state = await openState(join(home.dir, 'data'))
    await state.write((tx) => moveCursor(tx, startedCursor, 1))
    await state.close()
  })
  after(() => home[Symbol.asyncDispose]())

  for (const command of commands) {
    test(`is refused by: tetrad ${command}`, async () => {
      const { code, stderr, stdout } = await runCommand([...command.split(' '), '--json'], { cwd: home.dir })
      const last = stderr.trim().split('\n').at(-1) ?? ''
      assert.equal(code, 1, stdout + stderr)
      assert.equal(JSON.parse(last).error.code, 'data.demo', last)
    })
  }

  test('is reported by the doctor', async () => {
    const { code, stdout } = await runCommand(['doctor', '--offline'], { cwd: home.dir })
    assert.equal(code, 1)
    assert.match(stdout, /FAIL {2}stores: .*contains demo data/)
  })

  test('can be read without a configuration', async () => {
    const { code, stdout } = await runCommand(['keys', 'list', '--json', '--data', join(home.dir, 'data')], {
      cwd: '/',
    })
    assert.deepEqual([code, JSON.parse(stdout)], [0, []])
  })
})

test('every command that opens a database checks for demo data', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => /^[a-z-]+\.ts$/.test(name))
  const opening = files.filter((name) =>
    /\bopen(Stores?|State|Ingest|StateAndIngest)\(|#server\/app\.ts/.test(
      readFileSync(join(import.meta.dirname, name), 'utf8'),
    ),
  )
  assert.ok(opening.length >= 3)
  for (const name of opening) {
    const text = readFileSync(join(import.meta.dirname, name), 'utf8')
    assert.match(text, /refuseDemo\(|withState\(options, 'found', async \(\) => \{\}\)/, name)
  }
})
