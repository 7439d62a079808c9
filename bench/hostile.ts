// Goal: no request without a valid key takes more than 60 times the CPU time of a trivial one, /healthz in the same run.
// Prints the requests with the highest ratios, and how the first request of each kind compares: it may have to load code
// or create a document. The server runs in a process of its own; its CPU time includes reading the request from the
// socket. Each figure is the lowest of some rounds, because the others may contain a compilation or a garbage collection.
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type HostileRequest, hostileRequests, trivialRequest } from './hostile-list.ts'
import { launch, median } from './measure.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const perRound = 4
const trivialPerRound = 400
const goal = 60
const shown = 25
const dir = mkdtempSync(join(tmpdir(), 'tetrad-hostile-'))
const child = launch('hostile-server.ts', dir)

/** Sends a request on a connection of its own and waits until the response has arrived. */
function send(port: number, { bytes }: HostileRequest): Promise<void> {
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
      if (isComplete || /^HTTP\/1\.1 (304|204)/.test(text)) socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve())
    socket.write(bytes)
  })
}

try {
  if (!child.stdout) throw new Error('no output to read')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const nextLine = async () => String((await lines.next()).value)
  const { port } = JSON.parse(await nextLine()) as { readonly port: number }
  const cpuUs = async () => {
    child.stdin?.write('\n')
    return Number(await nextLine())
  }
  const measure = async (request: HostileRequest, times: number) => {
    const startUs = await cpuUs()
    for (let count = 0; count < times; count++) await send(port, request)
    return ((await cpuUs()) - startUs) / times
  }
  await measure(trivialRequest, trivialPerRound)
  const firstUs = new Map<string, number>()
  for (const request of hostileRequests) firstUs.set(request.name, await measure(request, 1))
  const trivialUs: number[] = []
  const lowestUs = new Map<string, number>()
  for (let round = 0; round < rounds; round++) {
    trivialUs.push(await measure(trivialRequest, trivialPerRound))
    for (const request of hostileRequests) {
      const us = await measure(request, perRound)
      lowestUs.set(request.name, Math.min(us, lowestUs.get(request.name) ?? us))
    }
  }
  const trivial = median(trivialUs)
  const print = (title: string, figures: ReadonlyMap<string, number>) => {
    const sorted = [...figures].sort(([, a], [, b]) => b - a)
    const over = sorted.filter(([, us]) => us > goal * trivial).length
    console.log(`${title}: ${over} of ${sorted.length} above ${goal} × (goal: none)`)
    for (const [name, us] of sorted.slice(0, shown))
      console.log(`  ${(us / trivial).toFixed(1).padStart(7)} ×  ${(us / 1000).toFixed(2).padStart(8)} ms  ${name}`)
  }
  console.log(`/healthz: ${(trivial / 1000).toFixed(3)} ms of CPU`)
  print('repeated', lowestUs)
  print('first of its kind', firstUs)
} finally {
  child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
