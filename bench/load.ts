// Load generator, in its own process so that it does not share a thread with the server. Uses raw keep-alive sockets
// with one request in flight on each. Each sends its next request at once or, if a rate is given, when it is due; then
// latency counts from the due time, so that a server that stalls does not get fewer requests, and the latency of the
// first second does not count, in which the generator connects and V8 compiles it. Prints one line of JSON: requests,
// seconds, responses other than 2xx, and the p50 and p99 latency.
import { readFileSync } from 'node:fs'
import { connect } from 'node:net'

const [port, requestsFile, secondsText, connectionsText, rateText] = process.argv.slice(2)
const requests = (JSON.parse(readFileSync(requestsFile ?? '', 'utf8')) as string[]).map((text) => Buffer.from(text))
const connections = Number(connectionsText)
/** Requests per second of all connections; 0: as many as possible. */
const rate = Number(rateText ?? 0)
const warmUpMs = rate === 0 ? 0 : 1000

const startMs = performance.now()
const endMs = startMs + warmUpMs + Number(secondsText) * 1000
let done = 0
let failed = 0
let next = 0
const tookMs: number[] = []

const headEnd = Buffer.from('\r\n\r\n')
/** The first digit of a 2xx status. */
const success = '2'.charCodeAt(0)

async function drive(): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.setNoDelay(true)
    let pending: Buffer = Buffer.alloc(0)
    let sentMs = 0
    const send = () => {
      next += 1
      const nowMs = performance.now()
      sentMs = rate === 0 ? nowMs : startMs + (next * 1000) / rate
      const request = requests[next % requests.length] as Buffer
      if (sentMs <= nowMs) socket.write(request)
      else setTimeout(() => socket.write(request), sentMs - nowMs)
    }
    socket.on('connect', send)
    socket.on('error', reject)
    socket.on('close', () => resolve())
    socket.on('data', (bytes: Buffer) => {
      pending = pending.length === 0 ? bytes : Buffer.concat([pending, bytes])
      const head = pending.indexOf(headEnd)
      if (head < 0) return
      const length = Number(/content-length: (\d+)/i.exec(pending.toString('latin1', 0, head))?.[1] ?? 0)
      if (pending.length < head + 4 + length) return
      if (pending[9] !== success || (length < 200 && pending.includes('"status":"0"'))) failed += 1
      pending = pending.subarray(head + 4 + length)
      done += 1
      if (sentMs >= startMs + warmUpMs) tookMs.push(performance.now() - sentMs)
      if (performance.now() >= endMs) socket.destroy()
      else send()
    })
  })
}

await Promise.all(Array.from({ length: connections }, drive))
const seconds = (performance.now() - startMs) / 1000
tookMs.sort((a, b) => a - b)
const percentile = (share: number) => tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * share))] ?? 0
console.log(JSON.stringify({ done, failed, seconds, p50Ms: percentile(0.5), p99Ms: percentile(0.99) }))
