// Where the time of a request for 4.8 goes in node:http: from a bare server to one of tetrad, one step at a time
// (ladder-server.ts). Sends short bursts to all servers in turn and compares them within each round, so that other work
// of the machine affects all of them alike. CPU time is that of the whole process; only Linux reports it.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { firstLine, launch, median } from './measure.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 40)
const connections = 32
const perBurst = 640
const warmUp = 12_000
const steps = [
  'bare node:http',
  '+ timeouts and limits of our server',
  '+ our headers',
  '+ reading headers and address of the request',
  '+ other code, which evicts that of Node from the caches',
  '+ the same code again (what the code itself takes)',
]

interface Peer {
  readonly name: string
  readonly child: ChildProcess
  readonly port: number
  readonly costs: number[]
  sockets: readonly Socket[]
}

const dir = mkdtempSync(join(tmpdir(), 'tetrad-bench-'))
const peers: Peer[] = []

/** Processor time of all threads so far. */
function cpuUs({ pid }: ChildProcess): number {
  const tasks = `/proc/${pid}/task`
  const ns = readdirSync(tasks).map((task) =>
    Number(readFileSync(join(tasks, task, 'schedstat'), 'utf8').split(' ')[0]),
  )
  return ns.reduce((sum, value) => sum + value, 0) / 1000
}

async function openConnections(peer: Peer): Promise<void> {
  const { port } = peer
  peer.sockets = Array.from({ length: connections }, () => connect({ port, host: '127.0.0.1', noDelay: true }))
  await Promise.all(peer.sockets.map((socket) => once(socket, 'connect')))
}

/** Sends one request and waits for the response. */
function exchange(socket: Socket, request: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let received: Buffer = Buffer.alloc(0)
    const onData = (bytes: Buffer) => {
      received = received.length === 0 ? bytes : Buffer.concat([received, bytes])
      const head = received.indexOf('\r\n\r\n')
      const length = head < 0 ? 0 : Number(/content-length: (\d+)/i.exec(received.toString('latin1', 0, head))?.[1])
      if (head < 0 || received.length < head + 4 + length) return
      socket.off('data', onData)
      if (received.toString('latin1', 9, 12) === '200') resolve()
      else reject(new Error(received.toString('latin1', 0, head)))
    }
    socket.on('data', onData)
    socket.write(request)
  })
}

async function burst({ sockets }: Peer, request: string, count: number): Promise<void> {
  const each = Math.ceil(count / connections)
  const drive = async (socket: Socket) => {
    for (let sent = 0; sent < each; sent++) await exchange(socket, request)
  }
  await Promise.all(sockets.map(drive))
}

const server = launch('answers-server.ts', join(dir, 'data'))
try {
  const { port, slug } = await firstLine<{ readonly port: number; readonly slug: string }>(server)
  const request = `GET /markets/slug/${slug} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`
  const response = await fetch(`http://127.0.0.1:${port}/markets/slug/${slug}`, {
    headers: { 'accept-encoding': 'identity' },
  })
  const [bodyFile, headersFile] = [join(dir, 'body.json'), join(dir, 'headers.json')]
  writeFileSync(bodyFile, new Uint8Array(await response.arrayBuffer()))
  const changing = ['x-request-id', 'date', 'connection', 'keep-alive']
  const headers = [...response.headers].filter(([name]) => !changing.includes(name))
  writeFileSync(headersFile, JSON.stringify(['x-request-id', '', ...headers.flat()]))
  for (const [count, name] of steps.entries()) {
    const child = launch('ladder-server.ts', bodyFile, headersFile, String(count))
    peers.push({ name, child, port: (await firstLine<{ port: number }>(child)).port, costs: [], sockets: [] })
  }
  peers.push({ name: 'tetrad', child: server, port, costs: [], sockets: [] })
  for (const peer of peers) {
    await openConnections(peer)
    await burst(peer, request, warmUp)
  }
  for (let round = 0; round < rounds; round++) {
    for (const peer of peers) {
      const startUs = cpuUs(peer.child)
      await burst(peer, request, perBurst)
      peer.costs.push((cpuUs(peer.child) - startUs) / perBurst)
    }
  }
  const bare = peers[0]?.costs ?? []
  for (const { name, costs } of peers) {
    const ratio = median(costs.map((cost, round) => cost / (bare[round] as number)))
    console.log(`${name}: ${median(costs).toFixed(0)} µs CPU per request, ${ratio.toFixed(2)} of bare`)
  }
} finally {
  for (const { child } of peers) child.kill('SIGKILL')
  server.kill('SIGKILL')
  for (const { sockets } of peers) for (const socket of sockets) socket.destroy()
  rmSync(dir, { recursive: true, force: true })
}
