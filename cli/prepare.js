// `npm ci` in a clone runs this. It builds the pages of the console, and starts the demo once in a temporary folder: then
// Node's compile cache contains the code, and the first start of a user does not have to compile it
// (decisions/load-only-what-a-start-needs.md). Everything works without it, so an error does not fail the installation.
// Plain JavaScript, because an old Node may run it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const limitMs = 120_000

/** If this fails, the pages of the server say how to build them. */
async function buildPages() {
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  await once(
    spawn(process.execPath, [vite, 'build', 'console'], { cwd: root, stdio: 'ignore', timeout: limitMs }),
    'close',
  )
}

/** In another folder and without settings of the environment, because a configuration would start the user's server. */
async function startDemo() {
  const dir = mkdtempSync(join(tmpdir(), 'tetrad-prepare-'))
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TETRAD_')))
  const args = [join(root, 'cli/tetrad.js'), 'serve', '--data', join(dir, 'data'), '--port', '0']
  const server = spawn(process.execPath, args, { cwd: dir, env, stdio: ['ignore', 'pipe', 'ignore'], timeout: limitMs })
  server.stdout.on('data', (text) => String(text).includes(' listens on ') && server.kill('SIGTERM'))
  await once(server, 'close')
  rmSync(dir, { recursive: true, force: true })
}

await Promise.allSettled([buildPages(), startDemo()])
