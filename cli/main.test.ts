import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { getPriority } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { contract } from '#api/contract/contract.ts'
import { openState } from '#storage/open.ts'
import { addUsage, dayOf } from '#storage/usage.ts'
import { launcher, openFolder, runCommand } from '#test/run-command.ts'
import { waitUntil } from '#test/wait-until.ts'
import manifest from '../package.json' with { type: 'json' }
import { inputsOf } from './ask.ts'

const commands = [
  [],
  ...['serve', 'init', 'simulator', 'keys', 'keys create', 'keys list', 'keys rotate', 'keys edit'].map((words) =>
    words.split(' '),
  ),
  ...['keys revoke', 'keys usage'].map((words) => words.split(' ')),
  ...['config', 'config check', 'config show', 'ask'].map((words) => words.split(' ')),
  ...['chains', 'ingest', 'ingest evm', 'coverage', 'repair'].map((words) => words.split(' ')),
  ...['fx', 'fx sources', 'fx rate', 'fx rate set', 'fx history', 'fx quote'].map((words) => words.split(' ')),
  ...['fx receipt', 'fx rotate-receipt-key', 'fx verify-receipt', 'fx check-signature'].map((words) =>
    words.split(' '),
  ),
  ...['doctor', 'backup', 'restore', 'conformance'].map((words) => words.split(' ')),
  ...['validators', 'validators explain'].map((words) => words.split(' ')),
  ...Object.keys(contract).map((id) => ['ask', id]),
]

describe('every command', { concurrency: 2 }, () => {
  for (const words of commands) {
    test(`tetrad ${[...words, '--help'].join(' ')} prints help and accepts --config, --data and --json`, async () => {
      await using home = await openFolder()
      const { code, stdout, stderr } = await runCommand([...words, '--help'], { cwd: home.dir })
      assert.deepEqual([code, stderr], [0, ''])
      assert.ok(stdout.startsWith(`Usage: ${['tetrad', ...words].join(' ')} `), stdout)
      for (const option of ['--config <file>', '--data <dir>', '--json']) assert.ok(stdout.includes(option), option)
    })
  }

  test('--version prints the version of the package', async () => {
    await using home = await openFolder()
    assert.equal((await runCommand(['--version'], { cwd: home.dir })).stdout, `${manifest.version}\n`)
  })
})

test('no input of an endpoint has the name of a common option', () => {
  const reserved = ['config', 'data', 'json', 'url', 'key', 'help', 'version']
  for (const endpoint of Object.values(contract)) {
    for (const { path } of inputsOf(endpoint.input as never, [], true))
      assert.ok(!reserved.includes(path.join('.')), endpoint.id)
  }
})

describe('exit codes and errors', () => {
  const usage: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /Usage: tetrad/],
    [['keys'], /Usage: tetrad keys/],
    [['srve'], /^tetrad: unknown command 'srve'\n\(Did you mean serve\?\)/],
    [['help', 'nope'], /^tetrad: unknown command 'nope'\nSee: tetrad --help\n$/],
    [['help', 'keys', 'nope'], /^tetrad: unknown command 'nope'\nSee: tetrad keys --help\n$/],
    [['keys', 'help', 'nope'], /^tetrad: unknown command 'nope'/],
    [['keys', 'list', '--jsn'], /^tetrad: unknown option '--jsn'\n\(Did you mean --json\?\)/],
    [['validators', 'explain', '1', '--day', '3'], /^tetrad: unknown option '--day'\n\(Use --from-day, --to-day\.\)\n/],
    [['export', '--epoch', '3'], /^tetrad: unknown option '--epoch'/],
    [['keys', 'create', '--plan', 'free'], /' not specified\nSee: tetrad keys create --help\n$/],
    [['keys', 'create', '--name', 'x', '--plan', 'gold'], /Allowed choices are free, lite, standard/],
    [['keys', 'create', '--name', 'x', '--plan', 'free', '--groups', 'fx,nft'], /"nft" is not one of explorer, fx/],
    [['keys', 'edit', 'x', '--groups', 'all,fx'], /"all" is not one of explorer, fx/],
    [['keys', 'usage', '--days', '0'], /It must be 1 to 400/],
    [['trail', '0xabc'], /^tetrad: address '0xabc' is invalid\. It must be 0x and 40 hexadecimal digits\./],
    [['ask', 'validators'], /^tetrad: unknown command 'validators'\nSee: tetrad ask --help\n$/],
    [['ask', 'markets.bySlug'], /required option '--slug <string>' not specified/],
    [['ask', 'validators.effectiveness', '--limit', 'ten'], /It must be a whole number/],
    [['ask', 'fx.createQuote', '--tenor', 'weekly'], /It must be one of instant, hourly, daily/],
  ]
  for (const [words, expected] of usage) {
    test(`2: "tetrad ${words.join(' ')}" is wrong usage`, async () => {
      await using home = await openFolder()
      const { code, stdout, stderr } = await runCommand(words, { cwd: home.dir })
      assert.deepEqual([code, stdout], [2, ''])
      assert.match(stderr, expected)
    })
  }

  test('2: with --json, a usage error is JSON on standard error', async () => {
    await using home = await openFolder()
    for (const words of [['srve'], ['keys']]) {
      const { code, stdout, stderr } = await runCommand([...words, '--json'], { cwd: home.dir })
      assert.deepEqual([code, stdout, JSON.parse(stderr).error.code], [2, '', 'usage'])
    }
  })

  test('1: an error says what happened and what to do, without a stack trace; with --json it is JSON', async () => {
    await using home = await openFolder()
    const plain = await runCommand(['keys', 'list', '--data', 'nowhere'], { cwd: home.dir })
    const message = 'Data folder nowhere does not exist. Use --data for another folder, or start the server once.'
    assert.deepEqual(plain, { code: 1, stdout: '', stderr: `tetrad: ${message}\n` })
    const { code, stderr } = await runCommand(['keys', 'list', '--data', 'nowhere', '--json'], { cwd: home.dir })
    assert.deepEqual([code, JSON.parse(stderr)], [1, { error: { code: 'data.missing', message } }])
  })

  test('1: a data folder that cannot be created is an error with its path', async () => {
    await using home = await openFolder()
    await writeFile(join(home.dir, 'file'), '')
    const words = ['keys', 'create', '--name', 'x', '--plan', 'free', '--data', 'file/data']
    const { code, stderr } = await runCommand(words, { cwd: home.dir })
    assert.equal(code, 1)
    assert.match(stderr, /^tetrad: the data folder file\/data cannot be created; check the path/)
  })

  test('1: an unreachable server is an error with its address, without the key', async () => {
    await using home = await openFolder()
    const key = `tetrad:id:${'s'.repeat(43)}`
    const words = ['ask', 'explorer.labelListV1', '--url', 'http://127.0.0.1:9', '--key', key]
    const { code, stderr } = await runCommand(words, { cwd: home.dir })
    assert.equal(code, 1)
    const expected =
      /^tetrad: explorer\.labelListV1: .*Is a server running at http:\/\/127\.0\.0\.1:9\? Use --url for another address\.\n$/
    assert.match(stderr, expected)
    assert.ok(!stderr.includes('sss'))
    await writeFile(join(home.dir, 'tetrad.yaml'), 'server: { port: 9 }\n')
    const configured = await runCommand(['ask', 'explorer.labelListV1', '--key', key], { cwd: home.dir })
    assert.match(configured.stderr, expected)
    const invalid = await runCommand(['ask', 'explorer.labelListV1', '--url', '127.0.0.1:9', '--json'], {
      cwd: home.dir,
    })
    assert.equal(JSON.parse(invalid.stderr).error.code, 'address.invalid')
  })
})

describe('keys', () => {
  test('are created, listed and revoked while another process has the database open', async () => {
    await using home = await openFolder()
    const state = await openState(join(home.dir, 'data'))
    try {
      const made = await runCommand(['keys', 'create', '--name', 'ci', '--plan', 'enterprise', '--json'], {
        cwd: home.dir,
      })
      assert.deepEqual([made.code, made.stderr], [0, ''])
      const { id, key, ...rest } = JSON.parse(made.stdout)
      assert.deepEqual(rest, {})
      assert.match(key, new RegExp(`^tetrad:${id}:[A-Za-z0-9_-]{43}$`))

      const words = ['keys', 'create', '--name', 'joe', '--plan', 'free', '--groups', 'fx,explorer', '--expires', '90d']
      const other = await runCommand(words, { cwd: home.dir })
      assert.match(other.stdout, /^id {3}[0-9a-f]{16}\nkey {2}tetrad:[0-9a-f]{16}:[A-Za-z0-9_-]{43}\n$/)

      const revoked = await runCommand(['keys', 'revoke', id, '--json'], { cwd: home.dir })
      assert.deepEqual(JSON.parse(revoked.stdout), { id, revoked: true })

      const listed = await runCommand(['keys', 'list', '--json'], { cwd: home.dir })
      const [first, second] = JSON.parse(listed.stdout)
      assert.deepEqual([first.id, first.name, first.plan, first.state], [id, 'ci', 'enterprise', 'revoked'])
      assert.deepEqual([second.groups, second.state], [['explorer', 'fx'], 'active'])
      assert.equal(Math.round((Date.parse(second.expiresAt) - Date.parse(second.createdAt)) / 86_400_000), 90)
      assert.ok(!listed.stdout.includes(key.split(':')[2]))
    } finally {
      await state.close()
    }
  })

  test('rotate changes the secret, edit changes only the given options, and both keep the id', async () => {
    await using home = await openFolder()
    const keys = async (...words: string[]) => {
      const { code, stdout, stderr } = await runCommand(['keys', ...words, '--json'], { cwd: home.dir })
      return code === 0 ? JSON.parse(stdout) : JSON.parse(stderr).error
    }
    const made = await keys('create', '--name', 'ci', '--plan', 'free', '--groups', 'fx', '--expires', '90d', '--admin')
    const rotated = await keys('rotate', made.id)
    assert.equal(rotated.id, made.id)
    assert.match(rotated.key, new RegExp(`^tetrad:${made.id}:[A-Za-z0-9_-]{43}$`))
    assert.notEqual(rotated.key, made.key)

    const overlapping = await keys('rotate', made.id, '--overlap', '24h')
    const [{ oldSecretUntil }] = await keys('list')
    assert.equal(oldSecretUntil, overlapping.oldSecretUntil)
    assert.equal(
      (await keys('rotate', made.id, '--overlap', 'soon')).message.slice(0, 30),
      '--overlap "soon" is not a time',
    )
    assert.match((await keys('rotate', made.id, '--overlap', '91d')).message, /^--overlap must be in the next 90 days/)
    const { stderr } = await runCommand(['keys', 'rotate', made.id, '--overlap', '7d'], { cwd: home.dir })
    assert.match(stderr, /The old secret works until \d{4}-\d\d-\d\d \d\d:\d\d UTC\./)

    const [before] = await keys('list')
    const edited = await keys('edit', made.id, '--plan', 'lite')
    assert.deepEqual(edited, { ...before, plan: 'lite' })
    const opened = await keys(
      'edit',
      made.id,
      '--groups',
      'all',
      '--expires',
      'never',
      '--no-admin',
      '--name',
      'all of it',
    )
    assert.deepEqual(
      [opened.name, opened.groups.length, opened.expiresAt, opened.admin, opened.plan],
      ['all of it', 4, null, false, 'lite'],
    )
    assert.deepEqual(await keys('list'), [opened])
    assert.equal((await keys('edit', made.id)).code, 'key.nothing_to_change')
    assert.equal((await keys('edit', made.id, '--expires', '2020-01-01')).code, 'expires.past')

    await keys('revoke', made.id)
    assert.match((await keys('rotate', made.id)).message, /^--restore is required for a revoked key/)
    assert.match((await keys('rotate', made.id, '--restore')).key, /^tetrad:/)
    assert.equal((await keys('list'))[0].state, 'active')
  })

  test('list prints a table with aligned columns, without colour if not on a terminal', async () => {
    await using home = await openFolder()
    await runCommand(['keys', 'create', '--name', 'a longer name', '--plan', 'free'], { cwd: home.dir })
    const { stdout } = await runCommand(['keys', 'list'], { cwd: home.dir })
    const [head = '', row = ''] = stdout.split('\n')
    assert.equal(head.indexOf('plan'), row.indexOf('free'))
    assert.equal(head.indexOf('state'), row.indexOf('active'))
    assert.ok(!stdout.includes('\u001b'))
  })

  test('rotate, edit, revoke and usage fail for an unknown key', async () => {
    await using home = await openFolder()
    await runCommand(['keys', 'create', '--name', 'x', '--plan', 'free'], { cwd: home.dir })
    for (const words of [
      ['keys', 'rotate', 'abc'],
      ['keys', 'edit', 'abc', '--plan', 'lite'],
      ['keys', 'revoke', 'abc'],
      ['keys', 'usage', 'abc'],
    ]) {
      const { code, stderr } = await runCommand([...words, '--json'], { cwd: home.dir })
      assert.deepEqual([code, JSON.parse(stderr).error.code], [1, 'key.unknown'])
    }
  })

  test('an invalid name is refused', async () => {
    await using home = await openFolder()
    const { code, stderr } = await runCommand(['keys', 'create', '--name', '', '--plan', 'free'], { cwd: home.dir })
    assert.deepEqual([code, stderr], [1, 'tetrad: name must be 1 to 100 printable characters\n'])
  })

  test('usage shows calls by day and endpoint', async () => {
    await using home = await openFolder()
    const made = await runCommand(['keys', 'create', '--name', 'ci', '--plan', 'free', '--json'], { cwd: home.dir })
    const { id } = JSON.parse(made.stdout)
    const state = await openState(join(home.dir, 'data'))
    const day = dayOf(Date.now())
    const call = { keyId: id, endpoint: 'markets.bySlug', outcome: 'accepted' } as const
    await addUsage(
      state,
      [
        { ...call, day, calls: 7 },
        { ...call, day, outcome: 'limit.second', calls: 2 },
        { ...call, day: day - 5, calls: 11 },
      ],
      new Map(),
    )
    await state.close()
    const all = JSON.parse((await runCommand(['keys', 'usage', id, '--json'], { cwd: home.dir })).stdout)
    assert.deepEqual(
      all.map(({ accepted }: { accepted: number }) => accepted),
      [7, 11],
    )
    assert.equal(all[0].refused['limit.second'], 2)
    const recent = await runCommand(['keys', 'usage', '--days', '5'], { cwd: home.dir })
    assert.match(recent.stdout, /^day +key +endpoint +accepted +over\/second +over\/day +not allowed\n/)
    assert.match(recent.stdout, new RegExp(`^\\d{4}-\\d\\d-\\d\\d +${id} +markets\\.bySlug +7 +2 +0 +0$`, 'm'))
    assert.ok(!recent.stdout.includes(' 11 '))
  })
})

describe('config', () => {
  test('check lists the sources of the configuration', async () => {
    await using home = await openFolder()
    assert.match(
      (await runCommand(['config', 'check'], { cwd: home.dir })).stdout,
      /^The configuration is valid: all defaults\.\n$/,
    )
    await writeFile(join(home.dir, 'my.yaml'), 'server: { port: 1 }\n')
    const env = { TETRAD_LOG_LEVEL: 'warn' }
    const { code, stdout } = await runCommand(['config', 'check', '--config', 'my.yaml', '--json'], {
      cwd: home.dir,
      env,
    })
    assert.equal(code, 0)
    assert.deepEqual(JSON.parse(stdout), {
      ok: true,
      file: 'my.yaml',
      variables: ['TETRAD_LOG_LEVEL'],
      configured: true,
      warnings: [],
    })
  })

  test('check warns about unlikely values', async () => {
    await using home = await openFolder()
    await writeFile(join(home.dir, 'tetrad.yaml'), 'fx: { sources: [{ id: desk, kind: push }] }\n')
    const { code, stdout, stderr } = await runCommand(['config', 'check'], { cwd: home.dir })
    assert.deepEqual([code, stdout], [0, 'The configuration is valid: tetrad.yaml, and defaults.\n'])
    assert.match(stderr, /^fx\.spender: not set: tradable quotes are refused.*set it to your settlement contract\.$/m)
  })

  test('check fails and lists every error with its position', async () => {
    await using home = await openFolder()
    await writeFile(join(home.dir, 'tetrad.yaml'), 'server:\n  prt: 1\nlog:\n  level: loud\n')
    const { code, stdout, stderr } = await runCommand(['config', 'check'], { cwd: home.dir })
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(
      stderr,
      [
        'tetrad: The configuration is not valid.',
        '  tetrad.yaml:2:3  server.prt is not a known name; did you mean port?',
        '  tetrad.yaml:4:10  log.level must be one of debug, info, warn, error, silent, found "loud"',
        '',
      ].join('\n'),
    )
  })

  test('show prints the effective settings and shortens URLs to their host', async () => {
    await using home = await openFolder()
    const source = '{ id: bank, kind: http-json, url: "https://u:hunter2@rates.example/hunter2?k=hunter2" }'
    await writeFile(join(home.dir, 'tetrad.yaml'), `server: { port: 1 }\nfx: { sources: [${source}] }\n`)
    const yaml = await runCommand(['config', 'show'], { cwd: home.dir })
    assert.match(yaml.stdout, /^server:\n {2}host: 127\.0\.0\.1\n {2}port: 1\n/)
    assert.match(yaml.stdout, /url: https:\/\/rates\.example\/…/)
    const json = await runCommand(['config', 'show', '--json'], { cwd: home.dir })
    assert.equal(JSON.parse(json.stdout).server.port, 1)
    assert.ok(!(yaml.stdout + json.stdout).includes('hunter2'))
  })
})

test('a command that imports has a lower priority, so that a server on the same machine goes first', async () => {
  await using home = await openFolder()
  const args = [launcher, 'labels', 'import', '-', '--format', 'csv']
  const child = spawn(process.execPath, args, { cwd: home.dir, stdio: ['pipe', 'ignore', 'inherit'] })
  try {
    const lower = Math.max(getPriority(), 10)
    await waitUntil(() => getPriority(child.pid) === lower)
  } finally {
    child.kill('SIGKILL')
  }
})
