// `doctor`, `coverage`, `backup`, `restore` and `conformance`, with and without a running server.
import assert from 'node:assert/strict'
import { mkdir, open, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, test } from 'node:test'
import { storeFeedState } from '#markets/feeds/feed-progress.ts'
import { newFeedState } from '#markets/read/feed-state.ts'
import { systemClock } from '#runtime/clock.ts'
import { openStores } from '#storage/open.ts'
import { type DemoServer, openDemoServer } from '#test/demo-server.ts'
import { freePort } from '#test/programs.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import manifest from '../package.json' with { type: 'json' }

async function coverageOf(url: string): Promise<readonly { readonly name: string; readonly status: string }[]> {
  const { streams } = (await (await fetch(`${url}/coverage`)).json()) as { streams: { name: string; status: string }[] }
  return streams
}

describe('next to a running server', () => {
  let home: Awaited<ReturnType<typeof openFolder>>
  let demo: DemoServer
  let url = ''
  let key = ''
  before(async () => {
    home = await openFolder()
    demo = await openDemoServer({}, systemClock, join(home.dir, 'data'))
    ;({ url, key } = demo)
    // The demo data was created when the test run began.
    const isCatchingUp = async () =>
      (await coverageOf(url)).some(({ status }) => status === 'catching up' || status === 'behind')
    for (let left = 1200; await isCatchingUp(); left--) {
      assert.ok(left > 0, 'it did not catch up')
      await systemClock.sleep(100)
    }
  })
  after(async () => {
    await demo[Symbol.asyncDispose]()
    await home[Symbol.asyncDispose]()
  })

  test('doctor finds the demo healthy, with a warning about its gap', async () => {
    const { code, stdout } = await runCommand(['doctor', '--json', '--sample', '3'], { cwd: home.dir })
    const { healthy, findings } = JSON.parse(stdout) as Examined
    const byName = new Map(findings.map((one) => [one.name, one]))
    assert.match(byName.get('stores')?.message ?? '', /all \d+ duty rows are intact/)
    // The demo's feed changes while the test runs.
    assert.match(byName.get('verify: markets against their feeds')?.message ?? '', /agree|3 have changed since/)
    assert.match(byName.get('verify: rates against their sources')?.message ?? '', /agree/)
    assert.deepEqual([code, healthy], [0, true], stdout)
    const plain = await runCommand(['doctor', '--offline', '--sample', '0'], { cwd: home.dir })
    assert.match(plain.stdout, /WARN {2}chain 137: blocks 80 to 139 are missing.*\n {8}→ add a node/)
    assert.match(plain.stdout, /\nHealthy: 0 failed, 2 warnings, \d+ ok\.\n$/)
  })

  test('coverage lists every stream with its status, like /coverage', async () => {
    const { code, stdout } = await runCommand(['coverage', '--json'], { cwd: home.dir })
    assert.equal(code, 0, stdout)
    const streams = JSON.parse(stdout) as { name: string; status: string; addresses?: number }[]
    assert.deepEqual(
      streams.map(({ name }) => name),
      (await coverageOf(url)).map(({ name }) => name),
    )
    assert.ok((streams.find(({ name }) => name === 'chain 1')?.addresses ?? 0) > 1000)
    const statuses = new Map(streams.map(({ name, status }) => [name, status]))
    assert.deepEqual([statuses.get('feed demo'), statuses.get('chain 137')], ['healthy', 'not syncing'])
    const plain = await runCommand(['coverage'], { cwd: home.dir })
    assert.match(plain.stdout, /network mainnet +\d+-\d+ +100\.00 % +- +- +0 +\d/)
    assert.match(plain.stdout, /\nNo stream is stale; 1 with gaps and without a source\.\n$/)
  })

  test('fx sources shows the sources of the server, also without a configuration', async () => {
    const { code, stdout } = await runCommand(['fx', 'sources', '--json'], { cwd: home.dir })
    assert.equal(code, 0)
    const { sources, rates } = JSON.parse(stdout) as { sources: { source: string }[]; rates: { status: string }[] }
    assert.deepEqual(
      sources.map(({ source }) => source),
      ['demo-north', 'demo-south'],
    )
    assert.ok(rates.length > 10 && rates.every(({ status }) => status === 'used'), stdout)
  })

  test('conformance exits with 0 if the server conforms, with 1 and the reason if not', async () => {
    const args = ['conformance', '--base-url', url, '--only', 'markets,explorer.labels.v1']
    const good = await runCommand(args, { cwd: home.dir, env: { TETRAD_KEY: key } })
    assert.equal(good.code, 0, good.stdout)
    assert.match(good.stdout, /^ok {4}explorer\.labels\.v1 {2}\(spec 4\.2\)/)
    assert.match(good.stdout, /\nConforms: \d+ passed, 0 failed, 0 skipped\.\n$/)
    const files = ['--report', 'report.md', '--report', 'report.json']
    const bad = await runCommand([...args, ...files, '--json', '--slug', 'no-such-market'], {
      cwd: home.dir,
      env: { TETRAD_KEY: key },
    })
    const report = JSON.parse(bad.stdout)
    assert.deepEqual([bad.code, report.conforms], [1, false])
    assert.match(JSON.stringify(report), /status 404 instead of 200/)
    assert.ok(!bad.stdout.includes(key))
    const [page, json] = await Promise.all(
      ['report.md', 'report.json'].map((name) => readFile(join(home.dir, name), 'utf8')),
    )
    assert.match(page ?? '', /^# Conformance report\n\nDoes not conform: .*## Failed checks.*## Calls\n/s)
    const { suite, addresses, options, ...written } = JSON.parse(json ?? '')
    assert.deepEqual(written, report)
    assert.deepEqual(
      [suite.version, addresses, options],
      [manifest.version, { all: url }, ['--only markets,explorer.labels.v1']],
    )
    assert.ok(!`${page}${json}`.includes(key))
    const unknown = await runCommand([...args, '--report', 'report.html'], { cwd: home.dir, env: { TETRAD_KEY: key } })
    assert.match(unknown.stderr, /It must end in \.json or \.md/)
    const none = await runCommand(['conformance', '--key', key, '--url', url, '--only', 'nothing'], { cwd: home.dir })
    assert.match(none.stderr, /No check id starts with nothing/)
  })

  test('1: fx rate set in the demo names its sources, none of which takes pushed rates', async () => {
    const { code, stderr } = await runCommand(['fx', 'rate', 'set', 'EUR/USD', '1.1'], { cwd: home.dir })
    assert.equal(code, 1)
    assert.match(stderr, /no configured source has kind push: demo-north \(http-json\), demo-south \(http-json\)\. Add/)
  })

  test('1: backup and restore refuse a folder that is not empty', async () => {
    await writeFile(join(home.dir, 'file'), '')
    for (const [words, expected] of [
      [['backup', '.'], /is not empty; choose a new folder/],
      [['restore', 'nowhere', '--data', '.'], /is not empty\. Choose a new folder with --data/],
    ] as const) {
      const { code, stderr } = await runCommand([...words, '--json'], { cwd: home.dir })
      const { error } = JSON.parse(stderr)
      assert.deepEqual([code, error.code], [1, 'backup.not_empty'])
      assert.match(error.message, expected)
    }
  })
})

interface Examined {
  readonly healthy: boolean
  readonly findings: readonly { readonly name: string; readonly level: string; readonly message: string }[]
}

describe('without a server', () => {
  test('backup and restore work', async () => {
    await using home = await openFolder()
    const at = { cwd: home.dir }
    const made = await runCommand(['keys', 'create', '--name', 'x', '--plan', 'free', '--json'], at)
    const backup = await runCommand(['backup', 'copy'], at)
    assert.equal(backup.code, 0, backup.stderr)
    assert.match(backup.stdout, /^Backed up into .*copy: \d+\.\d MiB, \d+ rows, verified\.\n$/)
    assert.equal((await runCommand(['restore', 'copy', '--data', 'again'], at)).code, 0)
    const source = { id: 'bank', kind: 'http-json', url: 'http://127.0.0.1:9/' }
    await writeFile(join(home.dir, 'tetrad.yaml'), JSON.stringify({ fx: { sources: [source] } }))
    const checked = await runCommand(['doctor', '--data', 'again', '--offline'], at)
    assert.match(
      checked.stdout,
      /WARN {2}rates bank: no server has polled it yet.*\n {8}→ run the server: tetrad serve/,
    )
    assert.equal(checked.code, 0, checked.stdout)
    const keys = await runCommand(['keys', 'list', '--data', 'again', '--json'], at)
    assert.deepEqual(
      JSON.parse(keys.stdout).map(({ id }: { id: string }) => id),
      [JSON.parse(made.stdout).id],
    )
  })

  test('doctor reports an unfinished restore, and a missing database, without creating files', async () => {
    await using home = await openFolder()
    const at = { cwd: home.dir }
    const data = join(home.dir, 'data')
    const examine = async () => {
      const before = (await readdir(data)).sort()
      const { code, stdout } = await runCommand(['doctor', '--offline', '--sample', '0'], at)
      assert.deepEqual((await readdir(data)).sort(), before)
      return { code, stdout }
    }
    await mkdir(data, { mode: 0o700 })
    const empty = await examine()
    assert.equal(empty.code, 1)
    assert.match(empty.stdout, /FAIL {2}stores: Data folder data contains no database/)
    assert.equal((await runCommand(['keys', 'create', '--name', 'x', '--plan', 'free'], at)).code, 0)
    const half = await examine()
    assert.match(half.stdout, /WARN {2}duties\.sqlite: does not exist yet\n {8}→ start the server once/)
    assert.equal((await runCommand(['backup', 'copy'], at)).code, 0)
    await rm(data, { recursive: true })
    assert.equal((await runCommand(['restore', 'copy'], at)).code, 0)
    assert.equal((await examine()).code, 0)
    await mkdir(join(data, 'restoring'))
    const unfinished = await examine()
    assert.equal(unfinished.code, 1)
    assert.match(
      unfinished.stdout,
      /FAIL {2}data folder: a restore into .*data has not finished\n {8}→ run `tetrad restore` again/,
    )
    assert.match((await runCommand(['serve', '--port', '0'], at)).stderr, /a restore into .*data has not finished/)
    assert.equal((await runCommand(['restore', 'copy'], at)).code, 0)
    assert.equal((await examine()).code, 0)
  })

  test('1: restore refuses a folder without a backup and creates nothing', async () => {
    await using home = await openFolder()
    const { code, stderr } = await runCommand(['restore', 'nowhere', '--data', 'again'], { cwd: home.dir })
    assert.equal(code, 1)
    assert.match(stderr, /manifest\.json is missing, so the backup is not complete/)
  })

  test('1: doctor reports an invalid configuration and a missing folder', async () => {
    await using home = await openFolder()
    await writeFile(join(home.dir, 'tetrad.yaml'), 'server:\n  prot: 1\n')
    const broken = await runCommand(['doctor'], { cwd: home.dir })
    assert.equal(broken.code, 1)
    assert.match(broken.stdout, /^FAIL {2}configuration: [\s\S]*server\.prot is not a known name/)
    await writeFile(join(home.dir, 'tetrad.yaml'), 'server:\n  port: 1\n')
    const empty = await runCommand(['doctor', '--offline', '--json', '--data', 'nowhere'], { cwd: home.dir })
    assert.equal(empty.code, 1)
    assert.match(empty.stdout, /does not exist/)
  })

  test('doctor --deep finds a damaged page of duties, and the doctor says when it last ran', async () => {
    await using home = await openFolder()
    const at = { cwd: home.dir }
    await writeFile(join(home.dir, 'tetrad.yaml'), 'server: { port: 1 }\n')
    const data = join(home.dir, 'data')
    await (await openStores(data)).close()
    const examine = async (...more: string[]) =>
      (await runCommand(['doctor', '--offline', '--sample', '0', ...more], at)).stdout
    assert.match(
      await examine(),
      /^WARN {2}deep check: has not run yet; .* not checked: the pages .* duties\.sqlite\n/m,
    )
    const deep = await examine('--deep')
    assert.match(deep, /^ok {4}duties\.sqlite: every page, index and reference is intact$/m)
    assert.match(deep, /^ok {4}deep check: done; not checked: bytes that changed inside a value/m)
    assert.match(await examine(), /^ok {4}deep check: last found no damage \d+ s ago; without it/m)
    // An index: the rows of its table can still be read.
    const file = new DatabaseSync(join(data, 'duties.sqlite'))
    const root = file.prepare("select rootpage from sqlite_schema where name = 'duty_changes_by_revision'").get()
    const { page_size: pageBytes } = file.prepare('pragma page_size').get() as { page_size: number }
    file.close()
    const handle = await open(join(data, 'duties.sqlite'), 'r+')
    await handle.write(Buffer.alloc(100, 0xff), 0, 100, (Number(root?.rootpage) - 1) * pageBytes)
    await handle.close()
    assert.match(await examine(), /^ok {4}stores: .* intact$/m)
    const damaged = await runCommand(['doctor', '--offline', '--sample', '0', '--deep'], at)
    assert.equal(damaged.code, 1)
    assert.match(damaged.stdout, /^FAIL {2}duties\.sqlite: .*\n {8}→ run the doctor as the user of the server/m)
  })

  test('1: coverage reports a feed that cannot keep up, with how far it is behind', async () => {
    await using home = await openFolder()
    const feed = '{ id: main, url: "http://127.0.0.1:9/", everyMs: 60000 }'
    await writeFile(join(home.dir, 'tetrad.yaml'), `markets: { feeds: [${feed}] }\n`)
    await (await openStores(join(home.dir, 'data'))).close()
    const unread = await runCommand(['coverage'], { cwd: home.dir })
    assert.match(
      unread.stdout,
      /^feed main: nothing has been read yet\. Start the server, or run: tetrad ingest markets$/m,
    )
    const stores = await openStores(join(home.dir, 'data'))
    const nowMs = systemClock.now()
    const slow = { startedMs: nowMs - 180_000, asOfMs: nowMs - 180_000, doneAtMs: nowMs, fullAtMs: nowMs }
    await stores.ingest.write((tx) => storeFeedState(tx, { ...newFeedState('main'), ...slow }))
    await stores.close()
    const { code, stdout } = await runCommand(['coverage'], { cwd: home.dir })
    assert.equal(code, 1)
    assert.match(stdout, /^BEHIND +feed main .* 3 min/m)
    assert.match(stdout, /^feed main: 3 passes behind: a pass takes 180 s, the interval is 60 s$/m)
    assert.match(stdout, /1 of 1 stale, behind or with gaps\.\n$/)
  })

  test('1: conformance without a key or a URL says which is missing', async () => {
    await using home = await openFolder()
    const noKey = await runCommand(['conformance', '--base-url', 'http://127.0.0.1:9'], { cwd: home.dir })
    assert.deepEqual(
      [noKey.code, noKey.stderr],
      [1, 'tetrad: No key. Most checks need one: set TETRAD_KEY or pass --key.\n'],
    )
    const noServer = await runCommand(['conformance', '--key', 'a:b:c'], { cwd: home.dir })
    assert.match(noServer.stderr, /No server\. Pass its URL with --url/)
  })

  test('1: conformance reports an unreachable or invalid URL once', async () => {
    await using home = await openFolder()
    const check = async (option: string, address: string) => {
      const { code, stdout, stderr } = await runCommand(['conformance', '--key', 'a:b:c', option, address], {
        cwd: home.dir,
      })
      return [code, stdout, stderr]
    }
    const url = `http://127.0.0.1:${await freePort()}`
    const unreachable = `tetrad: Cannot reach ${url} (ECONNREFUSED). Check the URL and whether the server is running.\n`
    assert.deepEqual(await check('--url', url), [1, '', unreachable])
    const invalid =
      '127.0.0.1:18300 is not an http or https URL. Write http://127.0.0.1:18300 or https://127.0.0.1:18300.'
    assert.deepEqual(await check('--base-url', '127.0.0.1:18300'), [2, '', `tetrad: ${invalid}\n`])
    const otherScheme = 'tetrad: ftp://127.0.0.1 is not an http or https URL.\n'
    assert.deepEqual(await check('--base-url', 'ftp://127.0.0.1'), [2, '', otherScheme])
  })
})
