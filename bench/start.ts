// Goal: a second start takes less than a second, and an idle server needs little memory. The baseline is an idle Node
// process that listens on a port.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './measure.ts'

const root = join(import.meta.dirname, '..')
const dir = mkdtempSync(join(tmpdir(), 'tetrad-start-'))
const runs = 5

/** Starts a process. Returns the time until its output matches, and its memory a second later. */
async function startOnce(args: readonly string[], ready: RegExp): Promise<{ readyMs: number; residentMiB: number }> {
  const startMs = performance.now()
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: root })
  let output = ''
  const readyMs = await new Promise<number>((resolve, reject) => {
    const onOutput = (bytes: Buffer) => {
      output += bytes
      if (ready.test(output)) resolve(performance.now() - startMs)
    }
    child.stdout?.on('data', onOutput)
    child.stderr?.on('data', onOutput)
    child.on('exit', () => reject(new Error(`ended before it was ready:\n${output}`)))
  })
  await new Promise((resolve) => setTimeout(resolve, 1000))
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  const residentMiB = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024
  child.removeAllListeners('exit')
  const ended = new Promise((resolve) => child.on('exit', resolve))
  child.kill('SIGTERM')
  await ended
  return { readyMs, residentMiB }
}

try {
  const serve = ['cli/tetrad.js', 'serve', '--data', dir, '--port', '0']
  const listening = /listening|http:\/\/127\.0\.0\.1:\d+/
  const first = await startOnce(serve, listening)
  console.log(`first start (creates demo data) ${Math.round(first.readyMs)} ms (goal ≤ 4500)`)
  const idle = ['-e', 'require("http").createServer().listen(0, () => console.log("listening"))']
  const ours: { readyMs: number; residentMiB: number }[] = []
  const nodes: { readyMs: number; residentMiB: number }[] = []
  for (let run = 0; run < runs; run++) {
    ours.push(await startOnce(serve, listening))
    nodes.push(await startOnce(idle, listening))
  }
  const ms = median(ours.map(({ readyMs }) => readyMs))
  const nodeMs = median(nodes.map(({ readyMs }) => readyMs))
  const memory = median(ours.map(({ residentMiB }) => residentMiB))
  const nodeMemory = median(nodes.map(({ residentMiB }) => residentMiB))
  console.log(
    `second start  ${Math.round(ms)} ms to ready (goal ≤ 900), ${(ms / nodeMs).toFixed(1)} × an idle Node (${Math.round(nodeMs)} ms)`,
  )
  console.log(
    `idle memory ${Math.round(memory)} MiB (goal ≤ 170), ${(memory / nodeMemory).toFixed(1)} × an idle Node (${Math.round(nodeMemory)} MiB)`,
  )
} finally {
  rmSync(dir, { recursive: true, force: true })
}
