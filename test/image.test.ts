// The container image, tested without a container engine: assembles the last stage from the lines of the Dockerfile,
// with the packages that the first stage would install, and starts its entry point as an unprivileged user.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { constants, existsSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, normalize } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { copyDemo } from './template.ts'

const root = normalize(join(import.meta.dirname, '..'))
const dockerfile = readFileSync(join(root, 'ops/Dockerfile'), 'utf8')

interface Copy {
  /** Undefined: copied from the repository. */
  readonly from: string | undefined
  readonly sources: readonly string[]
  readonly target: string
}

interface Stage {
  readonly name: string
  readonly copies: readonly Copy[]
  readonly text: string
}

const stages: readonly Stage[] = dockerfile
  .split(/^FROM /m)
  .slice(1)
  .map((text, at) => ({
    name: /^\S+ AS (\S+)/.exec(text)?.[1] ?? String(at),
    text,
    copies: [...text.matchAll(/^COPY (?:--from=(\S+) )?(.+) (\S+)$/gm)].map(([, from, sources = '', target = '']) => ({
      ...{ from, sources: sources.split(' '), target },
    })),
  }))
const last = stages.at(-1) as Stage
const argumentsOf = (instruction: string): string[] =>
  JSON.parse(new RegExp(`^${instruction} (\\[.*\\])$`, 'm').exec(last.text)?.[1] ?? '[]')

/** Files that Dockerfile.dockerignore excludes. */
const ignored = /\.test\.ts$|^(api|console)\/dist(\/|$)/

describe('Dockerfile', () => {
  test('copies existing files from earlier stages into its working folder', () => {
    const names = new Set<string>()
    for (const { name, copies } of stages) {
      for (const { from, sources, target } of copies) {
        assert.match(target, /^\.\//)
        if (from !== undefined) assert.ok(names.has(from), `${from} is not an earlier stage`)
        else for (const source of sources) assert.ok(existsSync(join(root, source)), source)
      }
      names.add(name)
    }
    assert.deepEqual([...names], ['packages', 'console', '2'])
  })

  test('.dockerignore allows exactly what is copied', async () => {
    const lines = (await readFile(join(root, 'ops/Dockerfile.dockerignore'), 'utf8')).trim().split('\n')
    const allowed = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
    const needed = stages.flatMap(({ copies }) => copies.flatMap(({ from, sources }) => (from ? [] : sources)))
    assert.deepEqual(new Set(allowed), new Set(needed))
    for (const line of ['api/dist', 'console/dist', '**/*.test.ts']) assert.ok(lines.includes(line), line)
  })

  test('does not run as root, contains no development packages, and builds the console in another stage', () => {
    assert.match(last.text, /^USER tetrad$/m)
    assert.ok(last.text.indexOf('USER tetrad') < last.text.indexOf('ENTRYPOINT'))
    assert.match(stages[0]?.text ?? '', /npm ci --omit=dev/)
    assert.match(stages[1]?.text ?? '', /^RUN npm run console$/m)
    assert.ok(last.copies.some(({ from, target }) => from === 'console' && target === './console/dist'))
    assert.equal(/^RUN .*npm/m.test(last.text), false)
  })
})

/** The packages of `npm ci --omit=dev` by the lock file, without those that the Dockerfile removes. */
async function copyPackages(target: string): Promise<void> {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; devOptional?: boolean }>
  }
  const removed = [...(stages[0]?.text ?? '').matchAll(/node_modules\/(node-\w+-)\*/g)].map(([, name = '']) => name)
  assert.equal(removed.length, 3)
  for (const [path, { dev }] of Object.entries(lock.packages)) {
    const name = path.slice('node_modules/'.length)
    // Nested packages are copied with their parent.
    if (path === '' || dev || name.includes('/node_modules/') || !existsSync(join(root, path))) continue
    if (removed.some((prefix) => name.startsWith(prefix))) continue
    await mkdir(dirname(join(target, name)), { recursive: true })
    await cp(join(root, path), join(target, name), { recursive: true, mode: constants.COPYFILE_FICLONE })
  }
}

/** Copies the built console, or builds it. */
async function copyConsole(target: string): Promise<void> {
  const built = join(root, 'console/dist')
  if (existsSync(join(built, 'index.html'))) return cp(built, target, { recursive: true })
  const vite = join(root, 'node_modules/.bin/vite')
  const { status } = spawnSync(vite, ['build', 'console', '--outDir', target, '--logLevel', 'warn'], { cwd: root })
  assert.equal(status, 0)
}

async function assemble(app: string): Promise<void> {
  for (const { from, sources, target } of last.copies) {
    const place = join(app, target)
    if (from === 'packages') await copyPackages(place)
    else if (from === 'console') await copyConsole(place)
    else {
      for (const source of sources) {
        const filter = (path: string) => !ignored.test(path.slice(root.length + 1))
        // A file copied into a folder keeps its name.
        await cp(join(root, source), target.endsWith('/') ? join(place, source) : place, { recursive: true, filter })
      }
    }
  }
}

describe('image', () => {
  let dir = ''
  let app = ''
  let user: { uid?: number; gid?: number } = {}
  before(async () => {
    dir = await mkdtemp(join(tmpdir(), 'tetrad-image-'))
    app = join(dir, 'app')
    await chmod(dir, 0o755)
    const data = join(dir, 'data')
    // package.test.ts tests the creation of demo data.
    await copyDemo(data)
    await mkdir(join(dir, 'tmp'))
    await assemble(app)
    // With the user id of the image if possible, otherwise as the current user.
    const uid = Number(/--uid (\d+)/.exec(last.text)?.[1])
    const unprivileged = { uid, gid: uid }
    if (process.getuid?.() !== 0) return
    for (const path of [join(dir, 'tmp'), data, ...(await readdir(data)).map((name) => join(data, name))])
      await chown(path, uid, uid)
    if (spawnSync(process.execPath, ['--version'], { ...unprivileged, cwd: app }).status === 0) user = unprivileged
  })
  after(() => rm(dir, { recursive: true, force: true }))

  const env = () => {
    const [, pairs = ''] = /^ENV (.+)$/m.exec(last.text) ?? []
    const variables = Object.fromEntries(pairs.split(' ').map((pair) => pair.split('=') as [string, string]))
    assert.equal(variables.TETRAD_DATA, '/data')
    return { ...variables, TETRAD_DATA: join(dir, 'data'), TMPDIR: join(dir, 'tmp'), PATH: '/usr/bin:/bin' }
  }
  /** Runs the entry point with our Node, and `/app` replaced by the assembled folder. */
  const start = (args: readonly string[]): ChildProcess => {
    const [node, ...entry] = argumentsOf('ENTRYPOINT')
    assert.equal(node, 'node')
    const command = [...entry, ...args].map((argument) => argument.replace(/^\/app\//, `${app}/`))
    return spawn(process.execPath, command, { ...user, cwd: app, env: env(), stdio: ['ignore', 'pipe', 'pipe'] })
  }
  const run = async (...args: string[]) => {
    const child = start(args)
    const [out, err] = [child.stdout, child.stderr].map(async (stream) => {
      const chunks: Buffer[] = []
      for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk)
      return Buffer.concat(chunks).toString()
    })
    const [code] = await once(child, 'exit')
    return { code, stdout: (await out) ?? '', stderr: (await err) ?? '' }
  }

  test('starts with its entry point, serves calls and the console, accepts commands, and stops after SIGTERM', async () => {
    const server = start([...argumentsOf('CMD'), '--port', '0', '--json'])
    const errors: string[] = []
    createInterface(server.stderr as NodeJS.ReadableStream).on('line', (line) => errors.push(line))
    const ended = once(server, 'exit')
    try {
      const early = ended.then(([code]) => assert.fail(`ended with ${code}: ${errors.join('\n')}`))
      const lines = createInterface(server.stdout as NodeJS.ReadableStream)
      const [line] = (await Promise.race([once(lines, 'line'), early])) as [string]
      const { url, key } = JSON.parse(line) as { url: string; key: string }
      const baseUrl = url.replace('0.0.0.0', '127.0.0.1')
      // The health check.
      assert.match(argumentsOf('  CMD').join(' '), /\/healthz/)
      assert.equal((await fetch(`${baseUrl}/healthz`)).status, 200)
      const page = await (await fetch(`${baseUrl}/`)).text()
      const [, script = ''] = /src="\.?(\/assets\/[^"]+\.js)"/.exec(page) ?? []
      assert.equal((await fetch(`${baseUrl}${script}`)).status, 200, page)
      const headers = { authorization: `Bearer ${key}` }
      assert.equal((await fetch(`${baseUrl}/v0/eth/validators/effectiveness?indices=1`, { headers })).status, 200)
      for (const args of [
        ['doctor', '--offline', '--sample', '1'],
        ['coverage'],
        ['keys', 'list'],
        ['backup', join(dir, 'data', 'copy')],
        ['conformance', '--base-url', baseUrl, '--key', key, '--only', 'markets'],
      ]) {
        const { code, stdout, stderr } = await run(...args)
        assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`)
      }
      if (user.uid !== undefined) assert.equal((await stat(join(dir, 'data/copy'))).uid, user.uid)
    } finally {
      server.kill('SIGTERM')
    }
    assert.deepEqual(await ended, [0, null], errors.join('\n'))
  })

  test('contains the files of the other commands', async () => {
    for (const args of [
      ['config', 'schema'],
      ['config', 'check'],
      ['openapi'],
      ['ask', 'markets.bySlug', '--help'],
      ['restore', join(dir, 'data', 'copy'), '--data', join(dir, 'data', 'again')],
    ]) {
      const { code, stderr } = await run(...args)
      assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    }
  })
})
