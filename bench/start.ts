// Goal: the demo starts in a few seconds, a second start takes less than a second, and an idle server needs little
// memory. The baseline is an idle Node process that listens on a port, started in turns with the server. Compare the
// ratios and the CPU times if other programs use the machine. The demo runs its simulated nodes and feeds in the process
// of the server, so memory is also measured with the same nodes and feeds in another process, as with your own sources.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { median } from './measure.ts'

const root = join(import.meta.dirname, '..')
const dir = mkdtempSync(join(tmpdir(), 'tetrad-start-'))
const runs = 5
/** Threads that are idle end after a minute. */
const restMs = 120_000
/** In this time, a first start has read the past of the simulated networks, unless the machine is busy. */
const readMs = 30_000
/** Of the times in /proc. */
const tickMs = 10

interface Start {
  readonly readyMs: number
  /** Of all threads, until it was ready. */
  readonly cpuMs: number
  /** A second after it was ready. */
  readonly residentMiB: number
  readonly restMiB: number
}

const residentMiB = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024

/** User and system time; the fields after the name of the program, which may contain spaces. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * tickMs
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** Starts a process and stops it `untilMs` after its output matches. */
async function startOnce(args: readonly string[], ready: RegExp, untilMs = 1000, more = {}): Promise<Start> {
  const startMs = performance.now()
  const env = { ...process.env, ...more }
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], cwd: root, env })
  const pid = child.pid as number
  let output = ''
  const [readyMs, usedMs] = await new Promise<[number, number]>((resolve, reject) => {
    const onOutput = (bytes: Buffer) => {
      output += bytes
      if (ready.test(output)) resolve([performance.now() - startMs, cpuMs(pid)])
    }
    child.stdout?.on('data', onOutput)
    child.stderr?.on('data', onOutput)
    child.on('exit', () => reject(new Error(`ended before it was ready:\n${output}`)))
  })
  await wait(1000)
  const resident = residentMiB(pid)
  await wait(untilMs - 1000)
  const rest = residentMiB(pid)
  child.removeAllListeners('exit')
  await stop(child)
  return { readyMs, cpuMs: usedMs, residentMiB: resident, restMiB: rest }
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.on('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

/** Memory of a second start with a configuration, while the simulator runs in another process. */
async function measureOwnSources(listening: RegExp): Promise<Start> {
  const simulator = spawn(process.execPath, ['cli/tetrad.js', 'simulator', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    cwd: root,
  })
  try {
    const settings = await new Promise<string>((resolve, reject) => {
      let output = ''
      simulator.stdout.on('data', (bytes: Buffer) => {
        output += bytes
        if (output.endsWith('}\n')) resolve(output)
      })
      simulator.on('exit', () => reject(new Error(`the simulator ended:\n${output}`)))
    })
    const config = join(dir, 'own.yaml')
    writeFileSync(config, settings)
    const serve = ['cli/tetrad.js', 'serve', '--config', config, '--data', join(dir, 'own'), '--port', '0']
    await startOnce(serve, listening, readMs)
    return await startOnce(serve, listening, restMs)
  } finally {
    simulator.removeAllListeners('exit')
    await stop(simulator)
  }
}

try {
  const serve = ['cli/tetrad.js', 'serve', '--data', dir, '--port', '0']
  const listening = /listening|http:\/\/127\.0\.0\.1:\d+/
  const idle = ['-e', 'require("http").createServer().listen(0, () => console.log("listening"))']
  const serveIn = (name: string) => ['cli/tetrad.js', 'serve', '--data', join(dir, name), '--port', '0']
  // Fills the compile cache.
  await startOnce(serveIn('warm'), listening)
  const empty = await startOnce(serveIn('empty'), listening, 1000, { NODE_COMPILE_CACHE: join(dir, 'cache') })
  // The server reads the earlier days of validators after it is ready. A second start has nothing left to read.
  const first = await startOnce(serve, listening, readMs)
  const ours: Start[] = []
  const nodes: Start[] = []
  for (let run = 0; run < runs; run++) {
    ours.push(await startOnce(serve, listening))
    nodes.push(await startOnce(idle, listening))
  }
  const rest = await startOnce(serve, listening, restMs)
  const external = await measureOwnSources(listening)
  const of = (starts: readonly Start[], figure: keyof Start) => median(starts.map((start) => start[figure]))
  const compare = (value: number, figure: keyof Start) => (value / of(nodes, figure)).toFixed(1)
  const line = (name: string, start: Start, goalMs: number) =>
    console.log(
      `${name} ${Math.round(start.readyMs)} ms to ready (goal ≤ ${goalMs}), ${compare(start.readyMs, 'readyMs')} × an idle Node; ` +
        `CPU ${Math.round(start.cpuMs)} ms, ${compare(start.cpuMs, 'cpuMs')} × an idle Node`,
    )
  const second = { readyMs: of(ours, 'readyMs'), cpuMs: of(ours, 'cpuMs'), residentMiB: 0, restMiB: 0 }
  line('first start (creates demo data)', first, 4000)
  line('first start after npm ci --ignore-scripts', empty, 4000)
  line('second start', second, 900)
  const memory = of(ours, 'residentMiB')
  console.log(
    `idle memory of the demo, simulator included: ${Math.round(memory)} MiB after a second, ` +
      `${compare(memory, 'residentMiB')} × an idle Node; ${Math.round(rest.restMiB)} MiB after ${restMs / 1000} s`,
  )
  console.log(
    `idle memory with own sources: ${Math.round(external.residentMiB)} MiB after a second, ` +
      `${compare(external.residentMiB, 'residentMiB')} × an idle Node; ${Math.round(external.restMiB)} MiB after ${restMs / 1000} s (goal ≤ 170)`,
  )
  console.log(`idle Node ${Math.round(of(nodes, 'readyMs'))} ms, CPU ${Math.round(of(nodes, 'cpuMs'))} ms`)
} finally {
  rmSync(dir, { recursive: true, force: true })
}
