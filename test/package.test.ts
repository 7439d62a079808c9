// The two npm packages and the container image. The steps of the container file make the package and install it into an
// empty folder, with packages from a registry on loopback (npm-registry.ts). All tests share this installation.
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { knownChains } from '#core/known-chains.ts'
import type { Settings } from '#runtime/settings.ts'
import { type StandaloneSimulator, startStandaloneSimulator } from '#simulator/standalone.ts'
import manifest from '../package.json' with { type: 'json' }
import { type AlteringProxy, jsonAt, openAlteringProxy } from './altering-proxy.ts'
import { builtApi } from './api-build.ts'
import { buildConsole, consoleDir } from './console-build.ts'
import { type BuiltStage, buildStage, hostFolders, parseContainerFile, settingOf } from './container-file.ts'
import { crawlSite } from './crawl-site.ts'
import { runDocCommands, shellBlocks } from './doc-commands.ts'
import { isLongRun, onlyInLongRun } from './long.ts'
import { type NpmRegistry, startNpmRegistry } from './npm-registry.ts'
import { freePort } from './programs.ts'
import { evmMissing } from './real-evm.ts'
import { copyDemo } from './template.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')
const bytesMax = 10_000_000
/** Those that contain Node. The other optional packages are native code. */
const nodePackages = Object.keys(manifest.optionalDependencies).filter((name) => name.startsWith('node-'))
const nativePackages = Object.keys(manifest.optionalDependencies).filter((name) => !nodePackages.includes(name))
const stages = parseContainerFile(readFileSync(join(root, 'ops/Dockerfile'), 'utf8'))
const [packageStage, imageStage] = stages
assert.ok(packageStage && imageStage)

let home = ''
let registry: NpmRegistry
/** Without variables of npm and the test runner, and without the Node of this checkout. */
let env: NodeJS.ProcessEnv = {}
let source: BuiltStage
let image: BuiltStage
let tarball = ''

/** Packs the builds of this test run. The long run builds them in the stage, as npm does. */
const packBuilt = `
  umask 077
  cp -rp "$CONSOLE" console/dist
  cp -r "$API" api/dist
  node cli/build.ts
  npm pack --ignore-scripts`

const npm = (args: readonly string[], cwd: string) => run('npm', args, { cwd, env, maxBuffer: 16_777_216 })

before(async () => {
  buildConsole()
  home = await mkdtemp(join(tmpdir(), 'tetrad-package-'))
  await chmod(home, 0o755)
  registry = await startNpmRegistry()
  const npmEnv = {
    HOME: home,
    npm_config_registry: registry.url,
    npm_config_cache: join(home, 'cache'),
    npm_config_audit: 'false',
    npm_config_prefer_offline: 'true',
    npm_config_update_notifier: 'false',
  }
  const kept = Object.entries(process.env).filter(([name]) => !/^(npm_|node_|tetrad_|no_color$|ci$)/i.test(name))
  env = { ...Object.fromEntries(kept), ...npmEnv, PATH: hostFolders.join(delimiter) }

  const options = { context: root, ignoreFile: join(root, 'ops/Dockerfile.dockerignore'), env: npmEnv }
  source = await buildStage(
    packageStage,
    join(home, 'source-stage'),
    {},
    {
      ...options,
      replaceRun: async (step, workDir) => {
        const isInstall = step.startsWith('npm ci')
        if (isInstall) await dropIntegrity(workDir)
        if (isLongRun) return isInstall ? step : `umask 077; ${step}`
        return isInstall ? 'ln -s "$MODULES" node_modules' : packBuilt
      },
      env: { ...npmEnv, MODULES: join(root, 'node_modules'), CONSOLE: consoleDir, API: await builtApi() },
    },
  )
  tarball = join(source.workDir, `tetrad-${manifest.version}.tgz`)
  image = await buildStage(imageStage, join(home, 'image'), { [packageStage.name]: source }, options)
})

after(async () => {
  await registry[Symbol.asyncDispose]()
  await rm(home, { recursive: true, force: true })
})

/** The registry packs the files again, so that their digests differ from those in the lock file. */
async function dropIntegrity(folder: string): Promise<void> {
  const file = join(folder, 'package-lock.json')
  await writeFile(file, (await readFile(file, 'utf8')).replaceAll(/^ *"integrity": .*\n/gm, ''))
}

/** The first line that a server started with --json prints. */
async function untilListening(child: ChildProcess): Promise<{ url: string; key: string }> {
  const lines = createInterface(child.stdout as Readable)
  const [line] = await Promise.race([once(lines, 'line'), once(lines, 'close').then(() => ['"no line"'])])
  const { url, key } = JSON.parse(line as string)
  return { url: url.replace('0.0.0.0', '127.0.0.1'), key }
}

/** The page of the console and its script, and every link of the documentation. */
async function checkConsole(url: string): Promise<void> {
  const page = await (await fetch(url)).text()
  const script = /src="([^"]+\.js)"/.exec(page)?.[1]
  assert.equal((await fetch(new URL(script ?? 'missing', url))).status, 200, page)
  const { broken } = await crawlSite(async (path) => {
    let response = await fetch(new URL(path, url))
    // A caller without a key may send 100 requests in a second.
    for (let attempts = 0; response.status === 429 && attempts < 5; attempts += 1) {
      await delay(Number(response.headers.get('retry-after')) * 1000)
      response = await fetch(new URL(path, url))
    }
    return { status: response.status, type: response.headers.get('content-type') ?? '', body: await response.text() }
  })
  assert.deepEqual(broken, [])
}

/** Scoped packages have two parts, and a path may follow. */
const packageOf = (name: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? name

describe('the package', () => {
  test('contains built JavaScript, declarations, the console and the guides, and nothing else', async () => {
    const { stdout } = await run('tar', ['-tzf', tarball])
    const files = stdout
      .trim()
      .split('\n')
      .map((path) => path.replace('package/', ''))
    const expected = [
      /^(package\.json|README\.md|LICENSE|cli\/(tetrad|parent|node-24)\.js|dist\/package\.json|api\/package\.json)$/,
      /^dist\/(?!console\/).*\.js$/,
      /^dist\/console\/dist\//,
      /^dist\/docs\/[^/]+\.md$/,
      /^docs\/tetrad\.schema\.json$/,
      /^npm-shrinkwrap\.json$/,
      /^api\/dist\/.*\.(js|d\.ts)$/,
    ]
    assert.deepEqual(
      files.filter((file) => /\.test\./.test(file) || !expected.some((pattern) => pattern.test(file))),
      [],
    )
    for (const pattern of expected)
      assert.ok(
        files.some((file) => pattern.test(file)),
        String(pattern),
      )
    assert.ok((await stat(tarball)).size < bytesMax)
  })

  test('installs the locked versions, also of indirect dependencies', async () => {
    const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, { version: string }>
    }
    const app = join(image.root, 'app')
    const manifests = globSync('**/node_modules/{*,@*/*}/package.json', { cwd: app })
    const installed = manifests.filter((path) => !path.endsWith('node_modules/tetrad/package.json'))
    assert.ok(installed.length > Object.keys(manifest.dependencies).length, String(installed.length))
    for (const path of installed) {
      const { name, version } = JSON.parse(await readFile(join(app, path), 'utf8'))
      const locked = Object.entries(lock.packages).filter(([folder]) => folder.endsWith(`node_modules/${name}`))
      assert.ok(
        locked.some(([, each]) => each.version === version),
        `${name} ${version} is not in package-lock.json`,
      )
    }
    assert.ok(existsSync(join(app, 'node_modules/tetrad/npm-shrinkwrap.json')))
  })

  test('is built from a console that every user can read, also with umask 077', async () => {
    const dir = join(source.workDir, 'console/dist')
    for (const name of ['.', ...(await readdir(dir, { recursive: true }))]) {
      const found = await stat(join(dir, name))
      assert.equal(found.mode & 0o777, found.isDirectory() ? 0o755 : 0o644, name)
    }
  })

  test('imports exactly its runtime dependencies', async () => {
    const dist = join(source.workDir, 'dist')
    const imported = new Set<string>()
    for (const file of await readdir(dist, { recursive: true })) {
      if (!file.endsWith('.js') || file.startsWith('console/')) continue
      const code = await readFile(join(dist, file), 'utf8')
      for (const [, name = ''] of code.matchAll(/^(?:import|export|\}) [^'\n]* from '([^'#.][^']*)'$/gm))
        imported.add(name)
      for (const [, name = ''] of code.matchAll(/\bimport\('([^'#.][^']*)'\)/g)) imported.add(name)
    }
    const foreign = [...imported].filter((name) => !isBuiltin(name)).map(packageOf)
    assert.deepEqual(new Set(foreign), new Set([...Object.keys(manifest.dependencies), ...nativePackages]))
  })

  test('can be built after npm ci --omit=dev: what builds the console is not a development package', async () => {
    const { packages } = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
    const files = globSync(['console/**/*.{ts,tsx}', 'docs/site/**/*.ts'], { cwd: root, exclude: ['**/*.test.ts'] })
    const imported = new Set(['vite'])
    for (const file of files) {
      const code = await readFile(join(root, file), 'utf8')
      for (const [, name = ''] of code.matchAll(/ from '([^'#.][^']*)'$/gm))
        if (!isBuiltin(name)) imported.add(packageOf(name))
    }
    assert.deepEqual(
      [...imported].filter((name) => packages[`node_modules/${name}`]?.dev === true),
      [],
    )
    assert.ok(imported.has('preact'))
  })

  test('has a Node for each platform that the launcher knows', async () => {
    const launcher = await readFile(join(root, manifest.bin.tetrad), 'utf8')
    const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8'))
    const names: string[] = []
    for (const [, platform, arch, name = ''] of launcher.matchAll(/'(\w+)-(\w+)': '([\w-]+)'/g)) {
      const { os, cpu } = lock.packages[`node_modules/${name}`]
      assert.deepEqual([os, cpu].flat(), [platform, arch])
      names.push(name)
    }
    assert.deepEqual(names.sort(), nodePackages)
  })

  for (const folder of ['.', 'api']) {
    test(`npm publish of ${folder} has nothing to correct or to warn about`, async () => {
      const cwd = await mkdtemp(join(home, 'publish-'))
      // Without the other files, which npm would only compress once more.
      const files = ['package.json', 'README.md', 'LICENSE', ...(folder === '.' ? [manifest.bin.tetrad] : [])]
      for (const name of files) await cp(join(source.workDir, folder, name), join(cwd, name))
      // npm warns without a token, even in a dry run.
      const token = `--${registry.url.replace('http:', '')}/:_authToken=none`
      const { stderr } = await npm(['publish', '--dry-run', '--ignore-scripts', token], cwd)
      assert.deepEqual(stderr.match(/^npm (warn|error).*$/gm), null)
      const published = JSON.parse(await readFile(join(cwd, 'package.json'), 'utf8'))
      assert.equal(published.version, manifest.version)
      assert.deepEqual(published.publishConfig, { access: 'public', provenance: true })
      assert.equal(await readFile(join(cwd, 'LICENSE'), 'utf8'), await readFile(join(root, 'LICENSE'), 'utf8'))
    })
  }
})

const clientScript = `
  import { createClient } from '@tetrad/api'
  import { contract } from '@tetrad/api/contract'
  const client = createClient({ baseUrl: process.argv[2], key: process.argv[3] })
  for (const [id, { example }] of Object.entries(contract)) {
    await client.call(id, example.input)
    console.log(id)
  }
`

/** Installs the client into an empty folder and calls the eight endpoints with the examples of the contract. */
async function callEndpoints(url: string, key: string): Promise<void> {
  const project = await mkdtemp(join(home, 'project-'))
  await writeFile(join(project, 'use.mjs'), clientScript)
  // In the long run, npm builds the client before it packs it.
  const scripts = isLongRun ? [] : ['--ignore-scripts']
  await npm(['pack', './api', '--pack-destination', project, ...scripts], source.workDir)
  await npm(['install', `./tetrad-api-${manifest.version}.tgz`], project)
  const { stdout } = await run('node', ['use.mjs', url, key], { cwd: project, env })
  assert.equal(stdout.trim().split('\n').length, 8)
}

const hasTerminal = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') === true

/** A Node of this machine that is too old for the server. */
function findOldNode(): string | undefined {
  return hostFolders
    .map((folder) => join(folder, 'node'))
    .find((node) => {
      const { stdout } = spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' })
      return stdout && Number.parseInt(stdout, 10) < 24
    })
}

const oldNode = findOldNode()
const noEvm = await evmMissing()

test('without the Node package, an old Node prints one line that says what to do', {
  skip: oldNode === undefined && 'this machine has no Node older than 24',
}, () => {
  const program = join(image.root, 'app/node_modules/.bin/tetrad')
  const { status, stdout, stderr } = spawnSync(oldNode ?? '', [program, '--version'], { env, encoding: 'utf8' })
  assert.deepEqual([status, stdout], [1, ''])
  assert.match(
    stderr,
    /^tetrad: Tetrad needs Node 24 or later; this is v\d+\S+ .* Install the package again \(optional packages included\), or install Node 24 or later\.\n$/,
  )
})

describe('the commands of the documentation, with an old Node on the path', {
  skip: oldNode === undefined && 'this machine has no Node older than 24',
}, () => {
  const home20 = () => join(home, 'old-node')
  let simulator: StandaloneSimulator
  let beacon: AlteringProxy
  let pathOfReader = ''

  before(async () => {
    // What `npm install -g` would make of the package, without copying Node, which has more than 100 MB.
    const modules = join(home20(), 'lib/node_modules')
    await cp(join(image.root, 'app/node_modules'), modules, { recursive: true, verbatimSymlinks: true })
    for (const name of nodePackages)
      if (existsSync(join(root, 'node_modules', name)))
        await symlink(join(root, 'node_modules', name), join(modules, name))
    await mkdir(join(home20(), 'bin'))
    await symlink(join(modules, 'tetrad', manifest.bin.tetrad), join(home20(), 'bin/tetrad'))
    await symlink(oldNode ?? '', join(home20(), 'bin/node'))
    pathOfReader = [join(home20(), 'bin'), ...hostFolders].join(delimiter)
    simulator = await startStandaloneSimulator()
    const { genesisUnix, genesisRoot } = knownChains.hoodi
    const genesis = { genesis_time: String(genesisUnix), genesis_validators_root: genesisRoot }
    beacon = await openAlteringProxy(
      (simulator.settings as Settings).validators.networks.hoodi.beacon.urls[0] ?? '',
      jsonAt(/\/beacon\/genesis$/, (data: object) => ({ ...data, ...genesis })),
    )
  })
  after(async () => {
    await beacon[Symbol.asyncDispose]()
    await simulator[Symbol.asyncDispose]()
  })

  /** What is tested elsewhere, or runs only here with other addresses. */
  const replace = (line: string): string => {
    // The package of this test run. `installed on this machine` installs it with npm.
    if (/^npm ci && npm pack/.test(line)) return `cp ${tarball} .`
    if (/^npm install -g/.test(line)) return 'test -f tetrad-*.tgz'
    // A clone is installed and started in `by npm ci --omit=dev in a clone`; the other command is this test run.
    if (line.startsWith('npm ci && npm start')) return 'tetrad serve'
    if (line.startsWith('npm ci && npm test')) return ''
    const rpc = (simulator.settings as Settings).explorer.chains[0]?.rpc[0]?.url ?? ''
    return line.replaceAll('http://127.0.0.1:8545', rpc).replaceAll('http://127.0.0.1:5052', beacon.url)
  }

  for (const page of ['README.md', 'docs/install.md', 'docs/getting-started.md', 'docs/production.md', 'docs/try.md'])
    test(page, async () => {
      const cwd = await mkdtemp(join(home, 'reader-'))
      // One page is enough to create the demo data.
      if (page === 'README.md') await copyDemo(join(cwd, 'data'))
      const port = String(await freePort())
      const output = await runDocCommands(page, {
        ...{ cwd, env: { ...env, PATH: pathOfReader, PORT: port } },
        replace: (line) => (hardhatBlock.includes(line) && line !== '' ? '' : replace(line)),
      })
      if (page === 'docs/install.md') assert.ok(output.includes(manifest.version))
    })
})

/** Hardhat downloads more than 100 MB, and needs a newer Node than Tetrad. */
const hardhatBlock = (shellBlocks('docs/try.md').find((block) => block.includes('hardhat')) ?? '').split('\n')

test('the test chain of docs/try.md, with the Node of this test', { skip: onlyInLongRun || noEvm }, async () => {
  const cwd = await mkdtemp(join(home, 'reader-'))
  const bin = join(home, 'new-node')
  await mkdir(bin)
  await symlink(process.execPath, join(bin, 'node'))
  const [port, chainPort] = [String(await freePort()), String(await freePort())]
  const output = await runDocCommands('docs/try.md', {
    ...{ cwd, env: { ...env, PATH: [bin, ...hostFolders].join(delimiter), PORT: port } },
    replace: (line) => {
      if (!hardhatBlock.includes(line)) return ''
      if (line.startsWith('npm install')) return `cp ${tarball} . && ${line}`
      if (line.startsWith('npx hardhat'))
        return `npx hardhat node --port ${chainPort} &\nwaitFor answers http://127.0.0.1:${chainPort}`
      return line.replaceAll('8545', chainPort)
    },
  })
  assert.match(output, /0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266/)
})

describe('the container image', () => {
  let data = ''
  let user: { uid?: number; gid?: number } = {}
  const listOf = (instruction: string): string[] =>
    JSON.parse(/\[.*\]$/.exec(settingOf(imageStage, instruction))?.[0] ?? '[]')

  before(async () => {
    data = image.env.TETRAD_DATA ?? ''
    await copyDemo(data)
    // With the user of the image if possible, otherwise as the current user.
    const users = await readFile(join(image.root, 'etc/passwd'), 'utf8')
    const [, id] = new RegExp(`^${settingOf(imageStage, 'USER')}:x:(\\d+):`, 'm').exec(users) ?? []
    const unprivileged = { uid: Number(id), gid: Number(id) }
    assert.ok(unprivileged.uid > 0)
    if (process.getuid?.() !== 0) return
    for (const name of await readdir(data)) await chown(join(data, name), unprivileged.uid, unprivileged.gid)
    await chmod(join(image.root, 'tmp'), 0o777)
    if (spawnSync(process.execPath, ['--version'], { ...unprivileged, cwd: image.workDir }).status === 0)
      user = unprivileged
  })

  const inImage = (): SpawnOptions => ({
    ...{ ...user, cwd: image.workDir, env: { ...image.env, TMPDIR: join(image.root, 'tmp') } },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const start = (args: readonly string[]): ChildProcess => {
    const [program = '', ...first] = listOf('ENTRYPOINT')
    return spawn(program, [...first, ...args], inImage())
  }
  /** In one process, because each loads most of the program. `serve` shows that the entry point runs a command. */
  const runCommands = async (...commands: (readonly string[])[]) => {
    const main = join(image.root, 'app/node_modules/tetrad/dist/cli/main.js')
    const code = `
      const { main } = await import('${pathToFileURL(main).href}')
      for (const args of ${JSON.stringify(commands)}) {
        await main(args)
        // A busy machine polls the rates of the demo late, which is reported with 1.
        if (args[0] === 'coverage' && process.exitCode === 1) process.exitCode = 0
        if (!process.exitCode) continue
        console.error(args.join(' '))
        break
      }`
    const child = spawn('node', ['--input-type=module', '--eval', code], inImage())
    const [stdout, stderr] = await Promise.all([text(child.stdout as Readable), text(child.stderr as Readable)])
    if (child.exitCode === null) await once(child, 'exit')
    assert.equal(child.exitCode, 0, `${stdout}${stderr}`)
  }

  test('contains no Node package and does not run as root', async () => {
    const installed = await readdir(join(image.root, 'app/node_modules'))
    assert.deepEqual(
      installed.filter((name) => name.startsWith('node-')),
      [],
    )
    const { mode } = await stat(data)
    assert.equal(mode & 0o777, 0o700)
  })

  test('starts with its entry point, serves the eight calls and the console, accepts commands, and stops after SIGTERM', async () => {
    const server = start([...listOf('CMD'), '--port', '0', '--json'])
    const log = text(server.stderr as Readable)
    const ended = once(server, 'exit')
    try {
      const { url, key } = await untilListening(server)
      assert.match(listOf('HEALTHCHECK').join(' '), /\/healthz/)
      assert.equal((await fetch(`${url}/healthz`)).status, 200)
      await checkConsole(url)
      await callEndpoints(url, key)
      await runCommands(
        ['doctor', '--offline', '--sample', '1'],
        ['keys', 'list'],
        ['backup', join(data, 'copy')],
        ['conformance', '--base-url', url, '--key', key, '--only', 'markets'],
      )
      if (user.uid !== undefined) assert.equal((await stat(join(data, 'copy'))).uid, user.uid)
    } finally {
      server.kill('SIGTERM')
    }
    assert.deepEqual(await ended, [0, null], await log)
  })

  test('contains the files of the other commands', async () => {
    await runCommands(
      ['config', 'show'],
      ['ask', 'markets.bySlug', '--help'],
      ['restore', join(data, 'copy'), '--data', join(data, 'again')],
    )
  })

  test('on a terminal, the first start shows its progress in one line, and the sign-in link before the calls', {
    skip: (!hasTerminal && 'needs script of util-linux') || onlyInLongRun,
  }, async () => {
    const line = `exec tetrad serve --port 0 --data ${await mkdtemp(join(home, 'first-'))}/data`
    const child = spawn('script', ['-qefc', line, '/dev/null'], {
      ...{ cwd: image.workDir, env: { ...env, TERM: 'xterm', PATH: image.env.PATH } },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    const last = 'Stop with Ctrl-C.'
    let shown = ''
    for await (const chunk of child.stdout) {
      const wasShown = shown.includes(last)
      shown += chunk
      // Ctrl-C.
      if (!wasShown && shown.includes(last)) child.stdin.write('\u0003')
    }
    assert.deepEqual(await ended, [0, null], shown)
    assert.match(shown, /\r\u001b\[2K[^\r\n]*\d %\r\u001b\[2K/)
    assert.match(shown, /^\u001b\[1mhttp[^\n]*\r$[\s\S]*^curl /m)
  })

  test('SIGTERM to npx stops the server', async () => {
    await writeFile(join(home, 'npx.yaml'), 'log: { level: info }\n')
    const args = ['tetrad', 'serve', '--port', '0', '--json', '--config', join(home, 'npx.yaml')]
    const child = spawn('npx', ['--offline', ...args, '--data', join(home, 'npx-data')], {
      ...{ cwd: join(image.root, 'app'), env: { ...env, PATH: image.env.PATH } },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const log = text(child.stderr)
    await untilListening(child)
    child.kill('SIGTERM')
    // The stream ends with the last process that can write to it.
    assert.match(await log, /"msg":"stopped"/)
  })
})

describe('installed on this machine', { skip: onlyInLongRun }, () => {
  /** Starts a server that creates its demo data, and stops it. */
  async function checkServer(program: string, args: readonly string[], cwd: string): Promise<void> {
    const data = await mkdtemp(join(home, 'data-'))
    const child = spawn(program, [...args, 'serve', '--port', '0', '--data', data], {
      ...{ cwd, env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let [url, key]: (string | undefined)[] = []
    for await (const line of createInterface(child.stdout)) {
      url ??= /listens on (http\S+)/.exec(line)?.[1]
      key ??= /^export TETRAD_KEY='(.+)'$/.exec(line)?.[1]
      if (!line.startsWith('Stop with')) continue
      await checkConsole(url ?? '')
      await callEndpoints(url ?? '', key ?? '')
      child.kill('SIGTERM')
    }
  }

  test('by npm install --global', async () => {
    await npm(['install', '--global', '--prefix', join(home, 'global'), tarball], home)
    await checkServer(join(home, 'global/bin/tetrad'), [], home)
  })

  test('by npx', () => checkServer('npx', ['--yes', '--package', tarball, 'tetrad'], home))

  test('by npm ci --omit=dev in a clone', async () => {
    const clone = join(home, 'clone')
    await run('git', ['clone', '--quiet', root, clone])
    await dropIntegrity(clone)
    await npm(['ci', '--omit=dev'], clone)
    await checkServer('npx', ['tetrad'], clone)
  })
})
