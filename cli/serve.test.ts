import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { contract } from '#api/contract/contract.ts'
import type { StreamView } from '#shared/console-calls.ts'
import { startedCursor } from '#simulator/demo-mark.ts'
import { addCoverage, moveCursor } from '#storage/coverage.ts'
import { openIngest, openStores } from '#storage/open.ts'
import { onlyInLongRun } from '#test/long.ts'
import { readPrintedCalls } from '#test/printed-calls.ts'
import { isInstalled } from '#test/programs.ts'
import { commandEnv, launcher, openFolder, runCommand } from '#test/run-command.ts'
import { copyDemo } from '#test/template.ts'

/** A configured server, which needs no demo data. */
async function openServer(config = 'log: { level: error }\n', stderr: 'inherit' | 'pipe' = 'inherit') {
  const home = await openFolder()
  await writeFile(join(home.dir, 'tetrad.yaml'), config)
  const env = { ...commandEnv(), HOME: home.dir }
  const child = spawn(process.execPath, [launcher, 'serve', '--port', '0', '--json'], {
    cwd: home.dir,
    env,
    stdio: ['ignore', 'pipe', stderr],
  })
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the server ended with ${code} before it listened`)
  })
  const [line] = (await Promise.race([once(createInterface(child.stdout as Readable), 'line'), ended])) as [string]
  const { url, ...more } = JSON.parse(line) as { url: string }
  assert.deepEqual(more, {}, 'no sign-in link for a script')
  return {
    dir: home.dir,
    url,
    child,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await home[Symbol.asyncDispose]()
    },
  }
}

describe('a running server', () => {
  let server: Awaited<ReturnType<typeof openServer>>
  before(async () => {
    server = await openServer('log: { level: warn }\n', 'pipe')
  })
  after(() => server[Symbol.asyncDispose]())

  test('accepts a key that was created meanwhile, until it is revoked', async () => {
    const { dir, url } = server
    const made = await runCommand(['keys', 'create', '--name', 'ci', '--plan', 'enterprise', '--json'], { cwd: dir })
    const { id, key } = JSON.parse(made.stdout)

    const call = ['ask', 'validators.metadata', '--validator_index_or_pubkey', '12', '--url', url]
    const anonymous = await runCommand(call, { cwd: dir })
    assert.deepEqual([anonymous.code, anonymous.stdout], [1, ''])
    assert.match(
      anonymous.stderr,
      /^tetrad: validators\.metadata: Not authenticated\. Pass a key with --key or TETRAD_KEY\.$/m,
    )

    const known = await runCommand([...call, '--json'], { cwd: dir, env: { TETRAD_KEY: key } })
    assert.deepEqual([known.code, JSON.parse(known.stderr).error.code], [1, 'validators.not_read'])
    assert.match(known.stderr, /validators\.metadata: This server does not read this network/)

    await runCommand(['keys', 'revoke', id], { cwd: dir })
    const revoked = await runCommand(call, { cwd: dir, env: { TETRAD_KEY: key } })
    assert.match(
      revoked.stderr,
      /Could not validate access token\. The server does not accept this key\. Check it with `(?:npx )?tetrad keys list`, or create one with `(?:npx )?tetrad keys create`\.\n$/,
    )
    const malformed = await runCommand([...call, '--key', 'nonsense'], { cwd: dir })
    assert.match(malformed.stderr, /The server does not accept this key\./)
  })

  test('a port in use is an error that says what to do', async () => {
    await using other = await openFolder()
    const { code, stderr } = await runCommand(['serve', '--port', new URL(server.url).port], { cwd: other.dir })
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^tetrad: 127\.0\.0\.1:\d+ is in use by another program\. Choose another port with --port[^\n]+\n$/,
    )
    assert.deepEqual(await readdir(other.dir), [], 'no demo data is created')
  })

  test('a second server on the same data folder is refused', async () => {
    const { code, stderr } = await runCommand(['serve', '--port', '0'], { cwd: server.dir })
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^tetrad: .*data is in use by another process, probably a running server; stop it, or wait until it has ended\n$/,
    )
  })

  test('SIGHUP is logged, and the server continues', async () => {
    server.child.kill('SIGHUP')
    let logged = ''
    for await (const line of createInterface(server.child.stderr as Readable)) {
      logged = JSON.parse(line).msg
      if (logged.includes('SIGHUP')) break
    }
    assert.match(logged, /ignored SIGHUP/)
    assert.equal((await fetch(`${server.url}/healthz`)).status, 200)
  })

  test('stops with exit code 0 after a signal', async () => {
    server.child.kill('SIGTERM')
    const [code] = await once(server.child, 'exit')
    assert.equal(code, 0)
  })
})

test('the doctor fails after a server was killed, but not after it was stopped', async () => {
  await using server = await openServer()
  const runDoctor = async () => {
    const { code, stdout } = await runCommand(['doctor', '--offline', '--sample', '0', '--json'], { cwd: server.dir })
    const { findings } = JSON.parse(stdout) as { findings: { name: string; level: string; message: string }[] }
    return { code, server: findings.find(({ name }) => name === 'server') }
  }
  const ended = once(server.child, 'exit')
  server.child.kill('SIGKILL')
  await ended
  const killed = await runDoctor()
  assert.deepEqual([killed.code, killed.server?.level], [1, 'fail'])
  assert.match(killed.server?.message ?? '', /ended without stopping, and none is running/)
  const again = spawn(process.execPath, [launcher, 'serve', '--port', '0', '--json'], {
    cwd: server.dir,
    env: { ...commandEnv(), HOME: server.dir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(createInterface(again.stdout), 'line')
  const stopped = once(again, 'exit')
  again.kill('SIGTERM')
  await stopped
  assert.deepEqual(await runDoctor(), { code: 0, server: undefined })
})

test('a signal during the start stops it with exit code 0', async () => {
  await using resources = new AsyncDisposableStack()
  const { dir } = resources.use(await openFolder())
  // A node that accepts connections and never answers.
  const node = createServer().listen(0, '127.0.0.1')
  resources.defer(() => void node.close())
  await once(node, 'listening')
  const { port } = node.address() as AddressInfo
  await writeFile(
    join(dir, 'tetrad.yaml'),
    `validators: { networks: { mainnet: { beacon: { urls: ['http://127.0.0.1:${port}'] } } } }\n`,
  )
  const child = spawn(process.execPath, [launcher, 'serve', '--port', '0', '--json'], {
    cwd: dir,
    env: { ...commandEnv(), HOME: dir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  resources.defer(() => void child.kill('SIGKILL'))
  const output = text(child.stdout)
  const ended = once(child, 'exit')
  const [socket] = (await once(node, 'connection')) as [Socket]
  resources.defer(() => void socket.destroy())
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
  assert.equal(await output, '', 'the server did not listen')
})

test('a copy of the example file works: on this machine only, with all groups', async () => {
  const example = await readFile(join(import.meta.dirname, '../tetrad.example.yaml'), 'utf8')
  await using server = await openServer(example)
  assert.equal(new URL(server.url).hostname, '127.0.0.1')
  const market = await fetch(`${server.url}/markets/slug/none`)
  assert.deepEqual([market.status, ((await market.json()) as { error: string }).error], [404, 'slug not found'])
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200)
})

test('a server with an invalid configuration does not start', async () => {
  await using home = await openFolder()
  const { code, stderr } = await runCommand(['serve', '--port', '99999', '--json'], { cwd: home.dir })
  assert.equal(code, 1)
  assert.match(JSON.parse(stderr).error.message, /--port {2}server\.port must be at most 65535, found 99999/)
})

test('a demo that cannot start exits', async () => {
  await using home = await openFolder()
  await writeFile(join(home.dir, 'file'), '')
  const { code, stderr } = await runCommand(['serve', '--port', '0', '--data', 'file/data'], { cwd: home.dir })
  assert.equal(code, 1)
  assert.match(stderr, /the data folder file\/data cannot be created/)
})

/** A demo without --json, up to the last line that it prints. */
async function openDemo(dir: string) {
  const child = spawn(process.execPath, [launcher, 'serve', '--port', '0'], {
    cwd: dir,
    env: { PATH: process.env.PATH, HOME: dir },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const lines: string[] = []
  for await (const line of createInterface(child.stdout as Readable)) {
    lines.push(line)
    if (line === 'Stop with Ctrl-C.') break
  }
  return {
    url: /listens on (\S+)/.exec(lines.join('\n'))?.[1] ?? assert.fail(lines.join('\n')),
    lines,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

const isLoading = (line: string): boolean => /^Demo data is still being loaded: \d+ %\. /.test(line)

test('the first start of the demo has recent days, and the next one reads the others', {
  skip: onlyInLongRun,
}, async () => {
  await using home = await openFolder()
  {
    await using demo = await openDemo(home.dir)
    assert(demo.lines.some(isLoading), demo.lines.join('\n'))
    const calls = readPrintedCalls(demo.lines.join('\n'))
    assert.equal(calls.length, Object.keys(contract).length, demo.lines.join('\n'))
    for (const call of calls) assert.equal((await fetch(call)).status, 200, call.url)
  }
  await using demo = await openDemo(home.dir)
  const mainnet = async () => {
    const { streams } = (await (await fetch(`${demo.url}/coverage`)).json()) as { streams: StreamView[] }
    return streams.find(({ name }) => name === 'network mainnet')
  }
  const giveUpMs = performance.now() + 120_000
  while ((await mainnet())?.from !== 0 || (await mainnet())?.status !== 'healthy') {
    assert(performance.now() < giveUpMs, JSON.stringify(await mainnet()))
    await sleep(200)
  }
})

test('the first start with own sources prints how far they are read, if it is known', async () => {
  await using home = await openFolder()
  const chain = "{ id: '1', name: One, mode: index, rpc: [{ url: 'http://127.0.0.1:9' }] }"
  const beacon = "{ urls: ['http://127.0.0.1:9'], fromEpoch: 100000 }"
  await writeFile(
    join(home.dir, 'tetrad.yaml'),
    `log: { level: silent }\nexplorer: { chains: [${chain}] }\nvalidators: { networks: { mainnet: { beacon: ${beacon} } } }\n`,
  )
  const child = spawn(process.execPath, [launcher, 'serve', '--port', '0'], {
    cwd: home.dir,
    env: commandEnv(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines: string[] = []
  const limit = setTimeout(() => child.kill('SIGKILL'), 60_000)
  for await (const line of createInterface(child.stdout as Readable)) {
    lines.push(line)
    if (line.startsWith('To see how far')) child.kill('SIGTERM')
  }
  clearTimeout(limit)
  assert.deepEqual(lines.slice(2, 4), ['Reading chain 1', 'Reading network mainnet: 0.00 % read'])
})

test('with demo data, --json prints the URL and a key that works, and no sign-in link', async () => {
  await using home = await openFolder()
  await copyDemo(join(home.dir, 'data'))
  const child = spawn(process.execPath, [launcher, 'serve', '--port', '0', '--json'], {
    cwd: home.dir,
    env: commandEnv(),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(child, 'exit')
  try {
    const [line] = (await once(createInterface(child.stdout as Readable), 'line')) as [string]
    const { url, key, ...more } = JSON.parse(line) as { url: string; key: string }
    assert.deepEqual(more, {})
    const headers = { authorization: `Bearer ${key}` }
    assert.equal((await fetch(`${url}/v0/eth/validators/12`, { headers })).status, 200)
  } finally {
    child.kill('SIGTERM')
  }
  assert.deepEqual(await ended, [0, null])
})

test('a configured server refuses a folder with demo data', async () => {
  await using home = await openFolder()
  await writeFile(join(home.dir, 'tetrad.yaml'), '')
  await makeDemoRows(join(home.dir, 'data'))
  const { code, stderr } = await runCommand(['serve', '--port', '0', '--json'], { cwd: home.dir })
  assert.equal(code, 1)
  assert.equal(JSON.parse(stderr).error.code, 'data.demo', 'nothing is printed before')
})

test('commands know the hours and days of a stopped demo', async () => {
  await using home = await openFolder()
  await makeDemoRows(join(home.dir, 'data'))
  const { code, stdout } = await runCommand(['doctor', '--offline', '--sample', '0'], { cwd: home.dir })
  assert.equal(code, 0, stdout)
  const explained = await runCommand(['validators', 'explain', '41', '--json'], { cwd: home.dir })
  assert.equal(JSON.parse(explained.stderr).error.code, 'record.not_found')
})

/** The demo's cursor, and rows with the hours and days of the demo. */
async function makeDemoRows(dir: string): Promise<void> {
  const { state, duties, close } = await openStores(dir)
  await state.write((tx) => moveCursor(tx, startedCursor, 1))
  await duties.write(async (tx) => {
    await tx.run(
      'insert into duty_networks (network, name, epochs_per_hour, epochs_per_day) values (1, ?, 2, 4)',
      'mainnet',
    )
    await addCoverage(tx, 'duties/mainnet', 0, 8)
  })
  await close()
}

test('the demo refuses a folder with other data', async () => {
  await using home = await openFolder()
  const ingest = await openIngest(join(home.dir, 'data'))
  await ingest.write((tx) => addCoverage(tx, 'explorer/blocks/1', 0, 10))
  await ingest.close()
  const { code, stderr } = await runCommand(['serve', '--port', '0', '--json'], { cwd: home.dir })
  assert.equal(code, 1)
  assert.equal(JSON.parse(stderr.trim().split('\n').at(-1) ?? '').error.code, 'data.own')
})

const noTerminal = !isInstalled('script', '--version') && 'the program `script` is not installed'

test('on a terminal, a short link that signs in comes right after the address, and the log is readable', {
  skip: noTerminal,
}, async () => {
  await using home = await openFolder()
  await writeFile(join(home.dir, 'tetrad.yaml'), 'explorer: { chains: [] }\n')
  const command = `'${process.execPath}' '${launcher}' serve --port 0`
  const terminal = spawn('script', ['-qfec', command, '/dev/null'], {
    cwd: home.dir,
    env: { ...commandEnv(), HOME: home.dir },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    let output = ''
    const link = /(http:\/\/127\.0\.0\.1:\d+)\/#\/sign-in\/(link_[\w-]{22})\S*\r?\nDocumentation: \S+\r?\n$/
    for await (const chunk of terminal.stdout) {
      output += chunk
      if (link.test(output)) break
    }
    const [, url = '', token = ''] = link.exec(output) ?? []
    assert.doesNotMatch(output, /\{"level"/)
    assert.match(output, /listens on \S+\r?\nOpen the console, signed in [^\n]*\r?\n[^\n]*#\/sign-in\//)
    assert.equal(output.split('\n').filter((line) => line.includes('listens on')).length, 1)
    const headers = { origin: url, 'content-type': 'application/json' }
    const signedIn = await fetch(`${url}/console/session`, { method: 'POST', headers, body: JSON.stringify({ token }) })
    assert.equal(((await signedIn.json()) as { signedIn: boolean }).signedIn, true)
  } finally {
    // The end of the terminal stops the server.
    terminal.kill('SIGKILL')
  }
})
