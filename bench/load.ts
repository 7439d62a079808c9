// Load generator, its own process so that it never shares a thread with what it measures. Raw keep-alive sockets, one
// request in flight on each; prints one JSON line: requests, seconds, how many answers were not 200, and how long the
// middle one and the hundredth took.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

const [port, requestsFile, secondsText, connectionsText] = process.argv.slice(2)
const requests = (JSON.parse(readFileSync(requestsFile ?? '', 'utf8')) as string[]).map((text) => Buffer.from(text))
const connections = Number(connectionsText)
const endMs = performance.now() + Number(secondsText) * 1000

let done = 0
let failed = 0
let turn = 0
const tookMs: number[] = []

const headEnd = Buffer.from('\r\n\r\n')

async function drive(): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.setNoDelay(true)
    let pending: Buffer = Buffer.alloc(0)
    let sentMs = 0
    const next = () => {
      turn = (turn + 1) % requests.length
      sentMs = performance.now()
      socket.write(requests[turn] as Buffer)
    }
    socket.on('connect', next)
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.on('data', (bytes: Buffer) => {
      pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes])
      const head = pending.indexOf(headEnd)
      if (head < 0) return
      const length = Number(/content-length: (\d+)/i.exec(pending.toString('latin1', 0, head))?.[1] ?? 0)
      if (pending.length < head + 4 + length) return
      if (pending.toString('latin1', 9, 12) !== '200' || (length < 200 && pending.includes('"status":"0"'))) failed += 1
      pending = pending.subarray(head + 4 + length)
      done += 1
      tookMs.push(performance.now() - sentMs)
      if (performance.now() >= endMs) socket.destroy()
      else next()
    })
  })
}

const startMs = performance.now()
await Promise.all(Array.from({ length: connections }, drive))
const seconds = (performance.now() - startMs) / 1000
tookMs.sort((a, b) => a - b)
const at = (share: number) => tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * share))] ?? 0
console.log(JSON.stringify({ done, failed, seconds, p50Ms: at(0.5), p99Ms: at(0.99) }))
