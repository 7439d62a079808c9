// The package of `npm pack`: unpacked below node_modules with its runtime dependencies only, and started by the
// system's Node. The dependencies are those of this checkout, so that no registry is needed.
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Client } from '#api/client.ts'
import manifest from '../package.json' with { type: 'json' }

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const isBuilt = /^(node_modules|\.git|data|dist|api\/dist|console\/dist|test|bench|.*\.tgz)$/

/** Without variables of npm and the test runner, and without the Node of this checkout. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(npm_|node_|tetrad_)/i.test(name))),
  PATH: (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.includes('node_modules'))
    .join(delimiter),
}

let home = ''
let packageDir = ''
let command = ''

before(async () => {
  home = await mkdtemp(join(tmpdir(), 'tetrad-package-'))
  const checkout = join(home, 'checkout')
  await cp(root, checkout, { recursive: true, filter: (path) => !isBuilt.test(relative(root, path)) })
  await symlink(join(root, 'node_modules'), join(checkout, 'node_modules'))
  await run('npm', ['pack', '--pack-destination', home], { cwd: checkout, env, maxBuffer: 16_777_216 })
  await rm(checkout, { recursive: true })

  const modules = join(home, 'node_modules')
  packageDir = join(modules, 'tetrad')
  await mkdir(packageDir, { recursive: true })
  await run('tar', ['-xzf', join(home, `tetrad-${manifest.version}.tgz`), '--strip-components=1', '-C', packageDir])
  const present = await readdir(join(root, 'node_modules'))
  const optional = Object.keys(manifest.optionalDependencies).filter((name) => present.includes(name))
  for (const name of [...Object.keys(manifest.dependencies), ...optional]) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(root, 'node_modules', name), join(modules, name))
  }
  await mkdir(join(modules, '.bin'))
  command = join(modules, '.bin', 'tetrad')
  await symlink(join(packageDir, manifest.bin.tetrad), command)
})

after(() => rm(home, { recursive: true, force: true }))

/** The first line that a server started with --json prints. */
async function untilListening(child: ChildProcess): Promise<{ url: string; key: string }> {
  const lines = createInterface(child.stdout as Readable)
  const [line] = await Promise.race([once(lines, 'line'), once(lines, 'close').then(() => ['no line'])])
  return JSON.parse(line as string)
}

test('the package contains no TypeScript and imports exactly its runtime dependencies', async () => {
  const dist = join(packageDir, 'dist')
  const files = await readdir(dist, { recursive: true })
  assert.deepEqual(
    files.filter((file) => /\.tsx?$/.test(file)),
    [],
  )
  const imported = new Set<string>()
  for (const file of files) {
    if (!file.endsWith('.js') || file.startsWith('console/')) continue
    const code = await readFile(join(dist, file), 'utf8')
    // Scoped packages have two parts, and a path may follow.
    for (const [, name = ''] of code.matchAll(/^(?:import|export|\}) [^'\n]* from '([^'#.][^']*)'$/gm))
      imported.add(/^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name)
  }
  const packageOf = (name: string) =>
    name
      .split('/')
      .slice(0, name.startsWith('@') ? 2 : 1)
      .join('/')
  const foreign = [...imported].filter((name) => !isBuiltin(name)).map(packageOf)
  assert.deepEqual(new Set(foreign), new Set(Object.keys(manifest.dependencies)))
})

test('the installed command prints its version', async () => {
  const { stdout } = await run(command, ['--version'], { cwd: home, env })
  assert.equal(stdout, `${manifest.version}\n`)
})

test('the installed server serves the demo, the console and the packed client, and stops with code 0', async () => {
  const child = spawn(command, ['serve', '--port', '0', '--json'], {
    ...{ cwd: home, env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const { url, key } = await untilListening(child)
  assert.equal((await fetch(`${url}/healthz`)).status, 200)
  const page = await (await fetch(url)).text()
  const script = /src="([^"]+\.js)"/.exec(page)?.[1]
  assert.equal((await fetch(new URL(script ?? 'missing', url))).status, 200)

  const built = await import(pathToFileURL(join(packageDir, 'api/dist/client.js')).href)
  const client = built.createClient({ baseUrl: url, key }) as Client
  assert.equal((await client.validators.metadata({ validator_index_or_pubkey: '12' })).validatorIndex, 12)

  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})

test('SIGTERM to npx stops the server', async () => {
  await writeFile(join(home, 'npx.yaml'), 'log: { level: info }\n')
  const args = ['tetrad', 'serve', '--port', '0', '--json', '--config', 'npx.yaml', '--data', 'npx-data']
  const child = spawn('npx', ['--offline', ...args], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const log = text(child.stderr)
  await untilListening(child)
  child.kill('SIGTERM')
  // The stream ends with the last process that can write to it.
  assert.match(await log, /"msg":"stopped"/)
})
