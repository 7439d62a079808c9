// `doctor`, `coverage`, `backup`, `restore` and `conform` as a person would type them, beside a server and without one.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { launcher, openFolder, runCommand } from '#test/run-command.ts'
import { copyDemo } from '#test/template.ts'

describe('beside a running server', () => {
  let home: Awaited<ReturnType<typeof openFolder>>
  let server: ReturnType<typeof spawn>
  let url = ''
  let key = ''
  before(async () => {
    home = await openFolder()
    await copyDemo(join(home.dir, 'data'))
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(TETRAD_|NODE_)/.test(name)))
    server = spawn(process.execPath, [launcher, 'serve', '--port', '0', '--json'], {
      cwd: home.dir,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const ended = once(server, 'exit').then(([code]) => {
      throw new Error(`the server ended with ${code} before it listened`)
    })
    const [chunk] = (await Promise.race([once(server.stdout as NodeJS.ReadableStream, 'data'), ended])) as [Buffer]
    const { signIn, ...told } = JSON.parse(chunk.toString('utf8'))
    assert.equal(signIn, undefined, 'no sign-in link without a terminal')
    ;({ url, key } = told)
  })
  after(async () => {
    const ended = once(server, 'exit')
    server.kill('SIGTERM')
    await ended
    await home[Symbol.asyncDispose]()
  })

  test('doctor finds the demo world healthy, and looks twice only at the hole that it has on purpose', async () => {
    const { code, stdout } = await runCommand(['doctor', '--json', '--sample', '3'], { cwd: home.dir })
    const { healthy, findings } = JSON.parse(stdout) as Examined
    const byName = new Map(findings.map((one) => [one.name, one]))
    assert.match(byName.get('stores')?.message ?? '', /all \d+ rows of the duties are sound/)
    assert.match(byName.get('recheck: market documents from their records')?.message ?? '', /^3 agree/)
    assert.match(byName.get('recheck: markets from their feeds')?.message ?? '', /agree/)
    assert.match(byName.get('recheck: rates from their sources')?.message ?? '', /agree/)
    assert.deepEqual([code, healthy], [0, true], stdout)
    const plain = await runCommand(['doctor', '--offline', '--sample', '0'], { cwd: home.dir })
    assert.match(
      plain.stdout,
      /LOOK {2}chain 137: a hole from 80 to 139, and nobody reads it.*\n {8}→ give the chain a node/,
    )
    assert.match(plain.stdout, /\nHealthy: 0 bad, 2 to look at, \d+ well\.\n$/)
  })

  test('coverage tells of every stream, as /coverage does, and how it stands', async () => {
    const { code, stdout } = await runCommand(['coverage', '--json'], { cwd: home.dir })
    assert.equal(code, 0, stdout)
    const streams = JSON.parse(stdout) as { name: string; standing: string; addresses?: number }[]
    const served = (await (await fetch(`${url}/coverage`)).json()) as { streams: { name: string }[] }
    assert.deepEqual(
      streams.map(({ name }) => name),
      served.streams.map(({ name }) => name),
    )
    assert.ok((streams.find(({ name }) => name === 'chain 1')?.addresses ?? 0) > 1000)
    const standings = new Map(streams.map(({ name, standing }) => [name, standing]))
    assert.deepEqual([standings.get('feed demo'), standings.get('chain 137')], ['well', 'not followed'])
    const plain = await runCommand(['coverage'], { cwd: home.dir })
    assert.match(plain.stdout, /network mainnet +\d+-\d+ +100\.00 % +0 +\d/)
    assert.match(plain.stdout, /\nNothing stale; 1 with a part that nobody reads\.\n$/)
  })

  test('fx sources shows what the server asks, also where nothing is configured', async () => {
    const { code, stdout } = await runCommand(['fx', 'sources', '--json'], { cwd: home.dir })
    assert.equal(code, 0)
    const { sources, rates } = JSON.parse(stdout) as { sources: { source: string }[]; rates: { standing: string }[] }
    assert.deepEqual(
      sources.map(({ source }) => source),
      ['demo-north', 'demo-south'],
    )
    assert.ok(rates.length > 10 && rates.every(({ standing }) => standing === 'used'), stdout)
  })

  test('conform ends with 0 where all is right, and with 1 and the reason where it is not', async () => {
    const args = ['conform', '--base-url', url, '--only', 'markets,explorer.labels.v1']
    const good = await runCommand(args, { cwd: home.dir, env: { TETRAD_KEY: key } })
    assert.equal(good.code, 0, good.stdout)
    assert.match(good.stdout, /^ok {4}explorer\.labels\.v1 {2}\(spec 4\.2\)/)
    assert.match(good.stdout, /\nConforms: \d+ passed, 0 failed, 0 left out\.\n$/)
    const bad = await runCommand([...args, '--json', '--slug', 'no-such-market'], {
      cwd: home.dir,
      env: { TETRAD_KEY: key },
    })
    const report = JSON.parse(bad.stdout)
    assert.deepEqual([bad.code, report.conforms], [1, false])
    assert.match(JSON.stringify(report), /status 404 instead of 200/)
    assert.ok(!bad.stdout.includes(key))
    const none = await runCommand(['conform', '--key', key, '--url', url, '--only', 'nothing'], { cwd: home.dir })
    assert.match(none.stderr, /No check begins with nothing/)
  })

  test('1: fx rate set in the demo names its sources, none of which takes pushed rates', async () => {
    const { code, stderr } = await runCommand(['fx', 'rate', 'set', 'EUR/USD', '1.1'], { cwd: home.dir })
    assert.equal(code, 1)
    assert.match(
      stderr,
      /none of the sources takes pushed rates: demo-north \(http-json\), demo-south \(http-json\); add/,
    )
  })

  test('1: a backup into a folder that is not empty is refused, and so is a restore', async () => {
    await writeFile(join(home.dir, 'file'), '')
    for (const words of [
      ['backup', '.'],
      ['restore', 'nowhere', '--data', '.'],
    ]) {
      const { code, stderr } = await runCommand([...words, '--json'], { cwd: home.dir })
      const { error } = JSON.parse(stderr)
      assert.deepEqual([code, error.code], [1, 'backup.not_empty'])
      assert.match(error.message, /is not empty; name a new folder/)
    }
  })
})

interface Examined {
  readonly healthy: boolean
  readonly findings: readonly { readonly name: string; readonly level: string; readonly message: string }[]
}

describe('without a server', () => {
  test('backup and restore open the stores themselves', async () => {
    await using home = await openFolder()
    const at = { cwd: home.dir }
    const made = await runCommand(['keys', 'create', '--name', 'x', '--plan', 'free', '--json'], at)
    const backup = await runCommand(['backup', 'copy'], at)
    assert.equal(backup.code, 0, backup.stderr)
    assert.match(backup.stdout, /^Backed up into .*copy: \d+\.\d MiB, \d+ rows, checked\.\n$/)
    assert.equal((await runCommand(['restore', 'copy', '--data', 'again'], at)).code, 0)
    const keys = await runCommand(['keys', 'list', '--data', 'again', '--json'], at)
    assert.deepEqual(
      JSON.parse(keys.stdout).map(({ id }: { id: string }) => id),
      [JSON.parse(made.stdout).id],
    )
  })

  test('1: what is no backup is told, and nothing is made', async () => {
    await using home = await openFolder()
    const { code, stderr } = await runCommand(['restore', 'nowhere', '--data', 'again'], { cwd: home.dir })
    assert.equal(code, 1)
    assert.match(stderr, /there is no manifest\.json, so this is no finished backup/)
  })

  test('1: doctor tells a configuration that cannot be read, and a folder that is not there', async () => {
    await using home = await openFolder()
    await writeFile(join(home.dir, 'tetrad.yaml'), 'server:\n  prot: 1\n')
    const broken = await runCommand(['doctor'], { cwd: home.dir })
    assert.equal(broken.code, 1)
    assert.match(broken.stdout, /^BAD {3}configuration: [\s\S]*server\.prot is not a known name/)
    await writeFile(join(home.dir, 'tetrad.yaml'), 'server:\n  port: 1\n')
    const empty = await runCommand(['doctor', '--offline', '--json'], { cwd: home.dir })
    assert.equal(empty.code, 1)
    assert.match(empty.stdout, /is not there/)
  })

  test('1: conform without a key or an address says which is missing', async () => {
    await using home = await openFolder()
    const keyless = await runCommand(['conform', '--base-url', 'http://127.0.0.1:9'], { cwd: home.dir })
    assert.deepEqual(
      [keyless.code, keyless.stderr],
      [1, 'tetrad: Give a key with --key or TETRAD_KEY; most checks need one.\n'],
    )
    const lost = await runCommand(['conform', '--key', 'a:b:c'], { cwd: home.dir })
    assert.match(lost.stderr, /Say where the server is with --url/)
  })

  test('1: conform with an address that nobody answers at, or that is none, says so once', async () => {
    await using home = await openFolder()
    const at = async (option: string, address: string) => {
      const { code, stdout, stderr } = await runCommand(['conform', '--key', 'a:b:c', option, address], {
        cwd: home.dir,
      })
      return [code, stdout, stderr]
    }
    const trial = createServer().listen(0, '127.0.0.1')
    await once(trial, 'listening')
    const url = `http://127.0.0.1:${(trial.address() as AddressInfo).port}`
    trial.close()
    const silent = `tetrad: ${url} does not answer (ECONNREFUSED). Is a server running there?\n`
    assert.deepEqual(await at('--url', url), [1, '', silent])
    const odd = '127.0.0.1:18300 is no http or https address; write http://127.0.0.1:18300 or https://127.0.0.1:18300.'
    assert.deepEqual(await at('--base-url', '127.0.0.1:18300'), [1, '', `tetrad: ${odd}\n`])
  })
})
