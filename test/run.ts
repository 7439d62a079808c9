// `npm test`: runs types, lint and all test files, then prints what was covered and what was skipped.
//
//   npm test                            everything except the long tests
//   npm test -- server/fx/pricing/*.test.ts   these files
//   npm test -- --group databases       one group: see test/groups.ts
//   npm test -- --seed 42               the seeds of an earlier run
//   npm run test:long                   all seeds, and the tests that take minutes, with real nodes first
import { type ChildProcess, fork, type SpawnOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { delimiter, join, normalize } from 'node:path'
import { parseArgs } from 'node:util'
import { endLine, type Result } from './batch.ts'
import { consoleBuild } from './console-build.ts'
import { childrenCpuMs, totalCpuMs } from './cpu-time.ts'
import { type Batch, batchesOf, batchesOfOtherClients, batchesOnNode24, type Group, groupOf, groups } from './groups.ts'
import { installNode24, node24 } from './node-24.ts'
import { type BatchResult, toRepeat, withFirstFailures } from './repeat.ts'
import { notTestedLine, summaryOf } from './summary.ts'
import type { DemoReady } from './template.ts'

const root = normalize(join(import.meta.dirname, '..'))
const bin = (name: string) => join(root, 'node_modules', '.bin', name)
const testFiles = '{api,shared,server,cli,conformance,console,simulator,test,docs}/**/*.test.ts'
/** Kept for later runs. */
const cacheFolder = join(root, 'node_modules', '.cache', 'tests')
const memoryFolder = '/dev/shm'
const memoryFreeMin = 4 * 1024 ** 3
const outputMax = 65_536
/** For a process that hangs. In the long run, a test may take hours. */
const batchLimit: SpawnOptions = { timeout: 1_200_000, killSignal: 'SIGKILL' }

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { group: { type: 'string', multiple: true }, seed: { type: 'string' }, long: { type: 'boolean' } },
})

/** The same by default, so that a commit always gives the same result (long.ts). The long run covers all seeds. */
const seed = Number(options.seed ?? process.env.TEST_SEED ?? 0)
if (!Number.isSafeInteger(seed) || seed < 0) throw new Error('--seed must be an integer, 0 or more')

interface Task {
  readonly name: string
  run(): Promise<TaskResult>
}

interface TaskResult {
  readonly results: readonly Result[]
  readonly cpuMs: number
}

async function runAll(): Promise<Result[]> {
  const chosen = chosenGroups()
  const files = globSync(positionals.length > 0 ? positionals : testFiles, {
    cwd: root,
    exclude: ['api/dist/**'],
  }).sort()
  const byGroup = Map.groupBy(files, (file) => groupOf(root, file))
  const chosenFiles = new Map([...byGroup].filter(([group]) => chosen.has(group)))
  const isComplete = positionals.length === 0
  if (isComplete) installEvm()
  if (isComplete || options.long) installNode24()
  const repeated = options.long
    ? [...batchesOfOtherClients(root, chosenFiles, seed), ...(existsSync(node24) ? batchesOnNode24(chosenFiles) : [])]
    : []
  const batches = [...batchesOf(chosenFiles), ...repeated]
  const work = makeTemporaryFolder()
  try {
    // Alone, because its chain has slots of two seconds.
    const nodes = await runTasks(options.long && isComplete && !options.group ? [nodesTask] : [])
    const checks = runTasks(chosen.has('checks') && isComplete ? checkTasks() : [])
    if (isComplete && batches.length > 0) await prepare(work)
    process.stdout.write(`\n▸ ${files.length} test files in ${batches.length} processes, seed ${seed}\n`)
    const tested = await runTasks(batches.map((batch, index) => testTask(batch, work, String(index))))
    const repeats = toRepeat(tested, options.long === true)
    if (repeats.length > 0) process.stdout.write(`\n▸ Repeated alone: ${repeats.map(({ name }) => name).join(', ')}\n`)
    for (const first of repeats) {
      const batch = batches.find(({ name }) => name === first.name)
      const [second] = batch ? await runTasks([testTask(batch, work, `repeated-${batches.indexOf(batch)}`)]) : []
      if (second) tested.splice(tested.indexOf(first), 1, withFirstFailures(first, second))
    }
    return [...nodes, ...(await checks), ...tested].flatMap(({ results }) => results)
  } finally {
    await endDemo()
    rmSync(work, { recursive: true, force: true })
  }
}

/** Builds what many test files share: the console and the demo data. */
async function prepare(work: string): Promise<void> {
  await Promise.all([runProcess('Console (vite)', consoleBuild.program, consoleBuild.args), prepareDemo(work)])
}

/** Its simulated nodes serve the demo servers of all tests (demo-nodes.ts). */
let demoProcess: ChildProcess | undefined
let demoNodes = ''

async function prepareDemo(work: string): Promise<void> {
  const env = testEnv(work, work)
  const child = fork(join(import.meta.dirname, 'template.ts'), { cwd: root, env })
  demoProcess = child
  const exited = once(child, 'exit').then(([code]) => Promise.reject(new Error(`Demo data failed (${code})`)))
  const [{ urls, cpuMs }] = (await Promise.race([once(child, 'message'), exited])) as [DemoReady]
  exited.catch(() => {})
  demoNodes = JSON.stringify(urls)
  process.stdout.write(`✔ Demo data (CPU ${secondsOf(cpuMs)} s)\n`)
}

async function endDemo(): Promise<void> {
  if (!demoProcess?.connected) return
  const exited = once(demoProcess, 'exit')
  demoProcess.disconnect()
  await exited
}

/** The compiler collects garbage less often, which saves a quarter of its CPU time and takes a tenth more memory. */
const compilerGogc = '400'

const testEnv = (work: string, temporary: string): NodeJS.ProcessEnv => ({
  ...process.env,
  TMPDIR: temporary,
  TEST_SHARED_DIR: work,
  NODE_COMPILE_CACHE: cacheFolder,
  TEST_SEED: String(seed),
  TEST_DEMO_NODES: demoNodes,
  GOGC: compilerGogc,
  ...(options.long && { TEST_LONG: '1' }),
})

function chosenGroups(): ReadonlySet<Group> {
  const names = options.group ?? Object.keys(groups)
  for (const name of names) {
    if (name in groups) continue
    process.stderr.write(`Unknown test group ${name}. Groups:\n`)
    for (const [group, contents] of Object.entries(groups)) process.stderr.write(`  ${group.padEnd(10)} ${contents}\n`)
    process.exit(2)
  }
  return new Set(names as Group[])
}

function leftOut(): string[] {
  const chosen = chosenGroups()
  const missing = (Object.keys(groups) as Group[]).filter((group) => !chosen.has(group))
  return [
    ...missing.map((group) => `group ${group}: ${groups[group]}`),
    ...(positionals.length > 0 ? ['all other files'] : []),
    ...(options.long && !existsSync(node24) ? ['commands on the oldest Node, which is not installed'] : []),
  ]
}

/** In memory if there is enough of it, because tests write thousands of small databases. */
function makeTemporaryFolder(): string {
  const hasMemory = existsSync(memoryFolder) && freeBytes(memoryFolder) >= memoryFreeMin
  const folder = mkdtempSync(join(hasMemory ? memoryFolder : tmpdir(), 'tetrad-tests-'))
  // PostgreSQL runs as another user, who needs access.
  chmodSync(folder, 0o755)
  return folder
}

function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** More tasks than cores, because many tests wait for a server, a browser or a timer. */
async function runTasks(tasks: readonly Task[]): Promise<BatchResult[]> {
  const waiting = [...tasks]
  const all: BatchResult[] = []
  const workers = Array.from({ length: availableParallelism() * 3 }, async () => {
    for (let task = waiting.shift(); task; task = waiting.shift()) {
      const startMs = performance.now()
      const { results, cpuMs } = await task.run()
      const hasPassed = results.every(({ outcome }) => outcome !== 'failed')
      const times = `${secondsOf(performance.now() - startMs)} s, CPU ${secondsOf(cpuMs)} s`
      process.stdout.write(`${hasPassed ? '✔' : '✖'} ${task.name} (${times})\n`)
      all.push({ name: task.name, results })
    }
  })
  await Promise.all(workers)
  return all
}

const secondsOf = (ms: number): string => (ms / 1000).toFixed(1)

const compilerEnv: NodeJS.ProcessEnv = { ...process.env, GOGC: compilerGogc }

/**
 * The compiler needs less than half the CPU time on one thread, and a fifth of it if it knows from an earlier run which
 * files have not changed.
 */
const compilerOptions = (name: string): string[] => [
  '--singleThreaded',
  ...['--incremental', '--tsBuildInfoFile', join(cacheFolder, `${name}.tsbuildinfo`)],
]

const checkTasks = (): Task[] => [
  checkTask('Types (tsc)', 'tsc', compilerOptions('types')),
  checkTask('Types of the console (tsc)', 'tsc', ['-p', 'console', ...compilerOptions('console-types')]),
  checkTask('Lint and format (biome)', 'biome', ['check', '.']),
]

const checkTask = (name: string, program: string, args: readonly string[]): Task => ({
  name,
  run: () => runCheck(name, bin(program), args, { env: compilerEnv }),
})

const nodesTask: Task = {
  name: 'Real nodes (test/nodes)',
  async run() {
    const file = join(import.meta.dirname, 'nodes', 'run.ts')
    return runCheck('Real nodes', process.execPath, [file], {}, (output) => process.stdout.write(output))
  },
}

async function runCheck(
  name: string,
  program: string,
  args: readonly string[],
  more: SpawnOptions,
  show: (output: string) => void = () => {},
): Promise<TaskResult> {
  const { code, output, cpuMs } = await capture(program, args, more)
  show(output)
  const result: Result =
    code === 0
      ? { file: 'checks', name, outcome: 'passed', cpuMs }
      : { file: 'checks', name, outcome: 'failed', cpuMs, reason: output }
  return { results: [result], cpuMs }
}

function testTask({ name, files, client, isOnNode24 }: Batch, work: string, folder: string): Task {
  return {
    name,
    async run() {
      const report = join(work, `report-${folder}.ndjson`)
      const temporary = join(work, folder)
      mkdirSync(temporary)
      const args = [join(import.meta.dirname, 'batch.ts'), report, ...files]
      const env = {
        ...testEnv(work, temporary),
        ...(client !== undefined && { TEST_CLIENT: String(client) }),
        ...(isOnNode24 && { TEST_NODE_24: '1' }),
      }
      const { code, output, cpuMs } = await capture(process.execPath, args, { env, ...(!options.long && batchLimit) })
      rmSync(temporary, { recursive: true, force: true })
      const lines = existsSync(report) ? readFileSync(report, 'utf8').split('\n') : []
      const isComplete = lines.pop() === endLine
      const results = lines.map((line) => JSON.parse(line) as Result)
      if (!isComplete || (code !== 0 && results.every(({ outcome }) => outcome !== 'failed'))) {
        results.push({ file: files[0] ?? name, name: `${name} ended with ${code}`, outcome: 'failed', reason: output })
      }
      return { results, cpuMs }
    },
  }
}

interface ProcessResult {
  readonly code: number | string | null
  readonly output: string
  readonly cpuMs: number
}

/** CPU time of all children that have ended. The difference at the end of a child is its own. */
let endedCpuMs = 0

function capture(program: string, args: readonly string[], more: SpawnOptions): Promise<ProcessResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], ...more })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk: unknown) => {
        output = `${output}${chunk}`.slice(-outputMax)
      })
    }
    let cpuMs = 0
    child.once('exit', (_, signal) => {
      // A process that it started may still hold its output.
      if (signal) for (const stream of [child.stdout, child.stderr]) stream?.destroy()
      const sumMs = childrenCpuMs()
      cpuMs = sumMs - endedCpuMs
      endedCpuMs = sumMs
    })
    child.once('error', reject)
    child.once('close', (code, signal) => resolve({ code: code ?? signal, output, cpuMs }))
  })
}

async function runProcess(
  name: string,
  program: string,
  args: readonly string[],
  more: SpawnOptions = {},
): Promise<void> {
  const { code, output, cpuMs } = await capture(program, args, more)
  if (code !== 0) throw new Error(`${name} failed (${code}):\n${output}`)
  process.stdout.write(`✔ ${name} (CPU ${secondsOf(cpuMs)} s)\n`)
}

/**
 * The native package of the EVM needs a newer Node than npm may have run on; npm then omits it silently. Install it
 * with the project's Node. Without it the tests of Permit2 signatures cannot run, so the run stops.
 */
function installEvm(): void {
  const scope = join(root, 'node_modules', '@nomicfoundation')
  const { optionalDependencies = {} } = JSON.parse(readFileSync(join(scope, 'edr', 'package.json'), 'utf8')) as {
    optionalDependencies?: Record<string, string>
  }
  const name = `@nomicfoundation/edr-${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`
  const version = optionalDependencies[name]
  const folder = join(root, 'node_modules', name)
  if (version && !existsSync(folder)) {
    process.stdout.write(`\n▸ Installing ${name}\n`)
    const path = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)
    const args = ['install', '--no-save', '--ignore-scripts', '--no-audit', '--no-fund', `${name}@${version}`]
    spawnSync('npm', args, { cwd: root, stdio: 'inherit', env: { ...process.env, PATH: path } })
  }
  if (existsSync(folder)) return
  process.stdout.write(
    `\n✖ The EVM of the tests (${name}) is not installed, so the Permit2 tests cannot run. Install it with Node 22 or ` +
      'later: npm install --no-save --ignore-scripts hardhat\n',
  )
  process.exit(1)
}

const startedMs = performance.now()
const results = await runAll()
const failed = results.filter(({ outcome }) => outcome === 'failed').length
const minutes = ((performance.now() - startedMs) / 60_000).toFixed(1)
process.stdout.write(`\n${summaryOf(results, leftOut())}`)
process.stdout.write(`\nTime: ${minutes} min, CPU ${secondsOf(totalCpuMs())} s. `)
process.stdout.write(`Seed: ${seed}${options.long ? ', long run' : ''}\n`)
// Last, so that it is seen also after a long list.
process.stdout.write(notTestedLine(results, leftOut()))
process.exitCode = failed > 0 || results.length === 0 ? 1 : 0
