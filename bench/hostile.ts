// Goal: no request takes more than 60 times the CPU time of a trivial one, /healthz in the same run, plus a fixed price for
// each kB of the response. That holds for requests without a valid key that were built to cost much, and for every endpoint
// with its most expensive parameters on a grown store. Prints the requests with the highest ratios, and how the first
// request of each kind compares: it may have to load code or create a document. The server runs in a process of its own;
// its CPU time includes reading the request from the socket. Each figure is the lowest of some rounds, because the
// others may contain a compilation or a garbage collection.
import { hash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { allEndpoints } from '#api/contract/extensions.ts'
import type { AnyId } from '#api/contract/routes.ts'
import { expensiveRequests, type GrownWorld } from './hostile-cases.ts'
import { type HostileRequest, hostileRequests, trivialRequest } from './hostile-list.ts'
import { launch } from './measure.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const perRound = 4
const trivialPerRound = 400
const goal = 60
/** Of a trivial request, for each kB of the response. `measureKb` prints what it pays for. */
const perKb = 0.1
const shown = 25
/** Longer than the second in which an endpoint with a limit of its own accepts its calls. */
const limitMs = 1100

const hasOwnLimit = (id: AnyId): boolean => 'perSecond' in allEndpoints[id]

interface Cost {
  /** Of the whole process, and of its main thread. */
  readonly us: number
  readonly mainUs: number
  readonly kb: number
  readonly status: string
}

const dir = mkdtempSync(join(tmpdir(), 'tetrad-hostile-'))
const child = launch('hostile-server.ts', dir)

/** Sends a request on a connection of its own and waits until the response has arrived. Returns its status and size. */
function send(port: number, { bytes }: HostileRequest): Promise<{ readonly status: string; readonly kb: number }> {
  return new Promise((resolve) => {
    const socket: Socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
      const head = text.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = /content-length: (\d+)/i.exec(text.slice(0, head))?.[1]
      const isComplete = length === undefined ? text.endsWith('0\r\n\r\n') : text.length >= head + 4 + Number(length)
      const isStream = /^content-type: text\/event-stream/im.test(text.slice(0, head)) && text.length > head + 4
      if (isStream || isComplete || /^HTTP\/1\.1 (304|204)/.test(text)) socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve({ status: text.slice(9, 12), kb: text.length / 1024 }))
    socket.write(bytes)
  })
}

/** CPU time of this process to parse, write and hash a kB of markets, which is less than composing it takes. */
async function measureKb(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/markets?limit=100`)).text()
  let lowestUs = Number.POSITIVE_INFINITY
  for (let round = 0; round < 20; round++) {
    const start = process.cpuUsage()
    hash('sha256', JSON.stringify(JSON.parse(text)))
    const { user, system } = process.cpuUsage(start)
    lowestUs = Math.min(lowestUs, user + system)
  }
  return lowestUs / (text.length / 1024)
}

try {
  if (!child.stdout) throw new Error('no output to read')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => String((await lines.next()).value)
  const { port, world } = JSON.parse(await nextLine()) as { readonly port: number; readonly world: GrownWorld }
  const expensive = expensiveRequests(world)
  const idOf = new Map(expensive.map(({ name, id }) => [name, id]))
  /** Of an endpoint: a request that did not succeed could be cheap for that reason. */
  const wrong = new Set<string>()
  const readCpuUs = async () => {
    child.stdin?.write('\n')
    return JSON.parse(await nextLine()) as [processUs: number, mainUs: number]
  }
  const measure = async (request: HostileRequest, times: number): Promise<Cost> => {
    const id = idOf.get(request.name)
    // These endpoints accept two calls per second.
    const count = id !== undefined && hasOwnLimit(id) ? Math.min(times, 2) : times
    if (id !== undefined && hasOwnLimit(id)) await sleep(limitMs)
    const [startUs, startMainUs] = await readCpuUs()
    let sent = { status: '', kb: 0 }
    for (let at = 0; at < count; at++) {
      sent = await send(port, request)
      if (id !== undefined && !sent.status.startsWith('2')) wrong.add(`${sent.status} ${request.name}`)
    }
    const [endUs, endMainUs] = await readCpuUs()
    return { ...sent, us: (endUs - startUs) / count, mainUs: (endMainUs - startMainUs) / count }
  }
  const requests = [...expensive, ...hostileRequests]
  await measure(trivialRequest, trivialPerRound)
  const first = new Map<string, Cost>()
  for (const request of requests) first.set(request.name, await measure(request, 1))
  const trivialUs: number[] = []
  const lowest = new Map<string, Cost>()
  for (let round = 0; round < rounds; round++) {
    trivialUs.push((await measure(trivialRequest, trivialPerRound)).us)
    for (const request of requests) {
      const cost = await measure(request, perRound)
      const known = lowest.get(request.name)
      if (!known || cost.us < known.us) lowest.set(request.name, cost)
    }
  }
  const trivial = Math.min(...trivialUs)
  /** What is left for the time before the first byte. */
  const ratioOf = ({ us, kb }: Cost) => us / trivial - perKb * kb
  const print = (title: string, costs: ReadonlyMap<string, Cost>) => {
    const sorted = [...costs].sort(([, a], [, b]) => ratioOf(b) - ratioOf(a))
    const over = sorted.filter(([, cost]) => ratioOf(cost) > goal).length
    console.log(`${title}: ${over} of ${sorted.length} above ${goal} × (goal: none), without ${perKb} × for each kB`)
    for (const [name, cost] of sorted.slice(0, shown)) {
      const { us, mainUs, kb, status } = cost
      const times = (value: number) => `${value.toFixed(1).padStart(7)} ×`
      console.log(
        `  ${times(ratioOf(cost))} of ${times(us / trivial)}, main thread ${times(mainUs / trivial)} ${(us / 1000).toFixed(2).padStart(8)} ms ${kb.toFixed(0).padStart(6)} kB  ${status} ${name}`,
      )
    }
  }
  console.log(`/healthz: ${(trivial / 1000).toFixed(3)} ms of CPU`)
  const kbUs = await measureKb(port)
  console.log(`a kB: ${perKb} × of it are allowed; parsing, writing and hashing takes ${(kbUs / trivial).toFixed(3)} ×`)
  const isEndpoint = ([name]: readonly [string, Cost]) => idOf.has(name)
  print('every endpoint, repeated', new Map([...lowest].filter(isEndpoint)))
  print('without a valid key, repeated', new Map([...lowest].filter((entry) => !isEndpoint(entry))))
  print('first of its kind', first)
  if (wrong.size > 0) {
    console.error(`Not measured, because these requests did not succeed:\n  ${[...wrong].join('\n  ')}`)
    process.exitCode = 1
  }
} finally {
  child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
