// Goal: no request takes more than 60 times the CPU time of a trivial one, /healthz in the same run, plus a fixed price for
// each kB of the response. That holds for requests without a valid key that were built to cost much, and for every endpoint
// with its most expensive parameters on a grown store. Prints the requests with the highest ratios, and how the first
// request of each kind compares: it may have to load code or create a document. The server runs in a process of its own;
// its CPU time includes reading the request from the socket. Each figure is the lowest of some rounds, because the
// others may contain a compilation or a garbage collection.
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expensiveRequests, type HostileRequest, hostileRequests, trivialRequest } from './hostile-list.ts'
import { launch, median } from './measure.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const perRound = 4
const trivialPerRound = 400
const goal = 60
/** Of a trivial request, for each kB of the response. */
const perKb = 0.1
const shown = 25

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

try {
  if (!child.stdout) throw new Error('no output to read')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => String((await lines.next()).value)
  const { port, key } = JSON.parse(await nextLine()) as { readonly port: number; readonly key: string }
  const readCpuUs = async () => {
    child.stdin?.write('\n')
    return JSON.parse(await nextLine()) as [processUs: number, mainUs: number]
  }
  const measure = async (request: HostileRequest, times: number): Promise<Cost> => {
    const [startUs, startMainUs] = await readCpuUs()
    let sent = { status: '', kb: 0 }
    for (let count = 0; count < times; count++) sent = await send(port, request)
    const [endUs, endMainUs] = await readCpuUs()
    return { ...sent, us: (endUs - startUs) / times, mainUs: (endMainUs - startMainUs) / times }
  }
  const requests = [...expensiveRequests(key), ...hostileRequests]
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
  const trivial = median(trivialUs)
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
  const isEndpoint = ([name]: readonly [string, Cost]) => expensive.has(name)
  const expensive = new Set(expensiveRequests(key).map(({ name }) => name))
  print('every endpoint, repeated', new Map([...lowest].filter(isEndpoint)))
  print('without a valid key, repeated', new Map([...lowest].filter((entry) => !isEndpoint(entry))))
  print('first of its kind', first)
} finally {
  child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
