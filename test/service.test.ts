// The compose file and the systemd unit must agree with the image, the settings and the commands.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, normalize } from 'node:path'
import { describe, test } from 'node:test'
import { parse } from 'yaml'
import { leaves } from '#runtime/config/leaves.ts'
import { otherVariables } from '#runtime/config.ts'
import { settingsWith } from './context.ts'
import { runCommand } from './run-command.ts'

const root = normalize(join(import.meta.dirname, '..'))
const read = (path: string) => readFile(join(root, path), 'utf8')
const { stopDelayMs, stopTimeoutMs, port } = settingsWith().server

interface Mount {
  readonly source: string
  readonly target: string
}

interface Service {
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly command?: readonly string[]
  readonly build?: { readonly context: string; readonly dockerfile: string }
  readonly stop_grace_period?: string
  readonly read_only?: boolean
  readonly tmpfs?: readonly string[]
}

const compose = async () =>
  parse(await read('ops/compose.yaml')) as { services: Record<string, Service>; volumes: Record<string, null> }

const mountsOf = ({ volumes = [] }: Service): Mount[] =>
  volumes.map((volume) => {
    const [source = '', target = ''] = volume.split(':')
    return { source, target }
  })

describe('compose file', () => {
  test('mounts existing files and declared volumes at the paths of the image', async () => {
    const { services, volumes } = await compose()
    const dockerfile = await read('ops/Dockerfile')
    for (const service of Object.values(services)) {
      for (const { source } of mountsOf(service)) {
        if (!source.startsWith('./')) assert.ok(source in volumes, source)
        else assert.ok(existsSync(join(root, 'ops', source)), source)
      }
    }
    const { tetrad } = services
    assert.ok(tetrad)
    const [, declared = ''] = /^VOLUME (.+)$/m.exec(dockerfile) ?? []
    const targets = mountsOf(tetrad).map(({ target }) => target)
    // Commands read tetrad.yaml in the working folder, if it exists.
    const workFolder = [...dockerfile.matchAll(/^WORKDIR (.+)$/gm)].at(-1)?.[1]
    assert.deepEqual(targets, [...declared.split(' '), workFolder])
    assert.equal(tetrad.command, undefined, 'uses the command of the image')
    assert.ok(existsSync(join(root, 'ops', tetrad.build?.context ?? '', tetrad.build?.dockerfile ?? '')))
    // The program writes only to its volumes, and to /tmp for the compile cache of Node.
    assert.deepEqual([tetrad.read_only, tetrad.tmpfs], [true, ['/tmp']])
  })

  test('publishes the port of the server on loopback only, and Prometheus scrapes it', async () => {
    const { services } = await compose()
    assert.deepEqual(services.tetrad?.ports, [`127.0.0.1:8080:${port}`])
    assert.match(await read('ops/Dockerfile'), new RegExp(`^EXPOSE ${port}$`, 'm'))
    const prometheus = parse(await read('ops/prometheus/prometheus.yml')) as {
      rule_files: string[]
      scrape_configs: { job_name: string; metrics_path: string; static_configs: { targets: string[] }[] }[]
    }
    const [job] = prometheus.scrape_configs
    assert.deepEqual([job?.job_name, job?.metrics_path], ['tetrad', '/metrics'])
    assert.deepEqual(job?.static_configs, [{ targets: [`tetrad:${port}`] }])
    for (const file of prometheus.rule_files)
      assert.ok(existsSync(join(root, 'ops/prometheus', file.replace('/etc/prometheus/', ''))), file)
    for (const name of await readdir(join(root, 'ops/grafana/provisioning'), { recursive: true }))
      if (name.endsWith('.yaml')) parse(await read(`ops/grafana/provisioning/${name}`))
  })

  test('gives the server enough time to stop', async () => {
    const { services } = await compose()
    const seconds = Number(/^(\d+)s$/.exec(services.tetrad?.stop_grace_period ?? '')?.[1])
    assert.ok(seconds * 1000 > stopDelayMs + stopTimeoutMs, String(seconds))
  })
})

const unit = await read('ops/tetrad.service')

describe('systemd unit', () => {
  const values = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)

  test('runs existing commands with existing options, not as root', async () => {
    const started = [...values('ExecStartPre'), ...values('ExecStart')].map((line) => line.split(' '))
    assert.equal(started.length, 2)
    for (const [env, node, file = '', ...args] of started) {
      assert.deepEqual([env, node], ['/usr/bin/env', 'node'])
      assert.ok(existsSync(file.replace('/opt/tetrad', root)), file)
      const { code, stdout } = await runCommand([...args.filter((argument) => /^\w+$/.test(argument)), '--help'], {
        cwd: root,
      })
      assert.equal(code, 0, args.join(' '))
      for (const option of args.filter((argument) => argument.startsWith('--')))
        assert.ok(stdout.includes(`${option} `), option)
    }
    assert.deepEqual(values('User'), ['tetrad'])
  })

  test('gives the server enough time to stop', () => {
    assert.ok(Number(values('TimeoutStopSec')[0]) * 1000 > stopDelayMs + stopTimeoutMs)
  })

  const analyze = spawnSync('systemd-analyze', ['--version']).status === 0
  test('is valid and hardened according to systemd-analyze', {
    skip: !analyze && 'no systemd-analyze here',
  }, async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-unit-'))
    try {
      const file = join(dir, 'tetrad.service')
      await cp(join(root, 'ops/tetrad.service'), file)
      const verified = spawnSync('systemd-analyze', ['verify', file], { encoding: 'utf8' })
      const complaints = verified.stderr.split('\n').filter((line) => line.includes('tetrad'))
      assert.deepEqual([verified.status, complaints], [0, []])
      const secured = spawnSync('systemd-analyze', ['security', '--offline=true', '--threshold=25', file])
      assert.equal(secured.status, 0, String(secured.stdout).split('\n').at(-2) ?? '')
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  })
})

describe('ops/tetrad', () => {
  const settingIn = (text: string, name: string) => new RegExp(`\\b${name}=(\\S+)`).exec(text)?.[1]

  test('uses the program, configuration, environment, user and data of the unit', async () => {
    const script = await read('ops/tetrad')
    const started = /^ExecStart=.* (\S+tetrad\.js) serve --config (\S+)$/m.exec(unit)
    assert.deepEqual([settingIn(script, 'program'), settingIn(script, 'config')], started?.slice(1))
    assert.equal(`-${settingIn(script, 'environment')}`, settingIn(unit, 'EnvironmentFile'))
    assert.equal(settingIn(script, 'user'), settingIn(unit, 'User'))
    assert.equal(settingIn(script, 'TETRAD_DATA'), settingIn(unit, 'TETRAD_DATA'))
  })

  const missing =
    process.getuid?.() === 0 && spawnSync('runuser', ['--version']).status === 0 ? false : 'needs root and runuser'
  test('parses the environment file like systemd, not like a shell', { skip: missing }, async () => {
    const dir = await mkdtemp(join(tmpdir(), 'tetrad-command-'))
    try {
      const files = { program: 'program.mjs', environment: 'environment', config: 'tetrad.yaml' }
      let script = (await read('ops/tetrad')).replace(/^user=.*$/m, 'user=root')
      for (const [name, file] of Object.entries(files))
        script = script.replace(new RegExp(`^${name}=.*$`, 'm'), `${name}=${join(dir, file)}`)
      await writeFile(join(dir, 'tetrad'), script, { mode: 0o755 })
      await writeFile(
        join(dir, 'environment'),
        `# a note\nTETRAD_STORE_STATE=postgres://u:$HOME&x;y@h/db?a=1&b=2\nTETRAD_LIMITS="redis://:p w@h"\nPATH=/nowhere\n  TETRAD_KEY = 'k' `,
      )
      await writeFile(
        join(dir, 'program.mjs'),
        `const { TETRAD_STORE_STATE: state, TETRAD_LIMITS: limits, TETRAD_KEY: key, TETRAD_DATA: data } = process.env
         console.log(JSON.stringify([state, limits, key, data, ...process.argv.slice(2)]))`,
      )
      const { status, stdout, stderr } = spawnSync(join(dir, 'tetrad'), ['doctor', 'a b'], { encoding: 'utf8' })
      assert.equal(status, 0, stderr)
      assert.deepEqual(JSON.parse(stdout), [
        'postgres://u:$HOME&x;y@h/db?a=1&b=2',
        'redis://:p w@h',
        'k',
        '/var/lib/tetrad',
        '--config',
        join(dir, 'tetrad.yaml'),
        'doctor',
        'a b',
      ])
    } finally {
      await rm(dir, { recursive: true, force: true })
    }
  })
})

test('ops/ uses only existing TETRAD_ variables', async () => {
  const known = new Set([...leaves.map(({ variable }) => variable), ...otherVariables])
  const files = globSync('ops/**/*', { cwd: root, withFileTypes: true }).filter((entry) => entry.isFile())
  let named = 0
  for (const { parentPath, name } of files) {
    const text = await readFile(join(parentPath, name), 'utf8')
    for (const [variable] of text.matchAll(/\bTETRAD_[A-Z_]*[A-Z]\b/g)) {
      assert.ok(known.has(variable), `${name}: ${variable}`)
      named += 1
    }
  }
  assert.ok(named >= 2)
})
