import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { begun } from '#simulator/demo-mark.ts'
import { moveCursor } from '#storage/coverage.ts'
import { openState } from '#storage/open.ts'
import { openFolder, runCommand } from '#test/run-command.ts'

const uuid = '01890000-0000-4000-8000-000000000001'

/** Every command that opens the stores; the files they name are there. */
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
  'labels list',
  'labels import labels.json',
  'labels export',
  'trail 0x1111111111111111111111111111111111111111',
  'ingest evm --chain 1 --once',
  'ingest beacon --once',
  'repair --chain 1',
  'validators audit --from-epoch 1',
  'import markets markets.json',
  'import entities entities.json --network mainnet',
  'markets feeds',
  'fx sources',
  'fx rate set EUR/USD 1.1',
  'fx history EUR/USD',
  `fx quote ${uuid}`,
  `fx receipt ${uuid}`,
  'fx receipt-key',
  'fx rotate-receipt-key',
  'coverage',
  'backup copy',
  'console link',
  'markets search harbour',
]

const config = `
log: { level: error }
explorer: { chains: [{ id: '1', name: One, mode: index, rpc: [{ url: 'http://127.0.0.1:9' }] }] }
validators: { networks: { mainnet: { beacon: { urls: ['http://127.0.0.1:9'], timeoutMs: 200 } } } }
fx: { sources: [{ id: desk, kind: push }] }
`

describe('a folder with the demo world in it, once something is configured', { concurrency: 2 }, () => {
  let home: Awaited<ReturnType<typeof openFolder>>
  before(async () => {
    home = await openFolder()
    await writeFile(join(home.dir, 'tetrad.yaml'), config)
    for (const name of ['labels', 'markets', 'entities']) await writeFile(join(home.dir, `${name}.json`), '[]')
    const state = await openState(join(home.dir, 'data'))
    await state.write((tx) => moveCursor(tx, begun, 1))
    await state.close()
  })
  after(() => home[Symbol.asyncDispose]())

  for (const words of commands) {
    test(`is refused by: tetrad ${words}`, async () => {
      const { code, stderr, stdout } = await runCommand([...words.split(' '), '--json'], { cwd: home.dir })
      const last = stderr.trim().split('\n').at(-1) ?? ''
      assert.equal(code, 1, stdout + stderr)
      assert.equal(JSON.parse(last).error.code, 'data.demo', last)
    })
  }

  test('is bad news from the doctor', async () => {
    const { code, stdout } = await runCommand(['doctor', '--offline'], { cwd: home.dir })
    assert.equal(code, 1)
    assert.match(stdout, /BAD {3}stores: .*holds the demo world/)
  })

  test('is looked at freely while nothing is configured', async () => {
    const { code, stdout } = await runCommand(['keys', 'list', '--json', '--data', join(home.dir, 'data')], {
      cwd: '/',
    })
    assert.deepEqual([code, JSON.parse(stdout)], [0, []])
  })
})

test('no command opens the stores without looking for the mark', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => /^[a-z-]+\.ts$/.test(name))
  const opening = files.filter((name) =>
    /\bopenStores?\(|\bopenState\(|#server\/main\.ts/.test(readFileSync(join(import.meta.dirname, name), 'utf8')),
  )
  assert.ok(opening.length >= 3)
  for (const name of opening) {
    const text = readFileSync(join(import.meta.dirname, name), 'utf8')
    assert.match(text, /refuseDemo\(|withState\(options, 'found', async \(\) => \{\}\)/, name)
  }
})
