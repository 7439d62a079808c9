// The processes of bench/labels.ts: the server with 100 000 labels, the baseline server, and the load generator. The
// load generator counts bytes instead of keeping them, because a response may be 20 MB.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { complete } from '#core/schema-check.ts'
import { HistoryWriter } from '#explorer/labels/history.ts'
import { putLabels } from '#explorer/labels/labels.ts'
import { openLog } from '#runtime/log.ts'
import { SettingsSchema } from '#runtime/settings.ts'
import { startServer } from '#server/app.ts'
import { createKey } from '#storage/keys.ts'

const labelCount = 100_000

/** Prints its port, a key and the time it took to write the labels. Prints its memory after any input. */
async function serve(dataDir: string): Promise<void> {
  const { value: settings } = complete(SettingsSchema, {
    server: { port: 0 },
    explorer: { labels: { inlineMax: 10 * labelCount } },
  })
  const server = await startServer({ settings, dataDir, log: openLog('warn', (line) => process.stderr.write(line)) })
  const { state, ingest, clock, random } = server.context
  const labels = Array.from({ length: labelCount }, (_, at) => ({
    chain: '1',
    slug: `entity-${at}`,
    name: `Entity number ${at}`,
    description: 'Centralised exchange, deposit and hot wallets.',
    notes: at % 10 === 0 ? 'Hot wallets rotate every quarter.' : '',
  }))
  const startMs = performance.now()
  await ingest.write((tx) => putLabels(new HistoryWriter(tx, { by: 'bench', via: 'bench', atMs: clock.now() }), labels))
  const writtenMs = performance.now() - startMs
  const { key } = await createKey(state, { name: 'bench', plan: 'enterprise' }, clock, random)
  console.log(JSON.stringify({ port: Number(new URL(server.url).port), key, writtenMs, labelCount }))
  process.stdin.on('data', () => console.log(JSON.stringify({ residentMiB: process.memoryUsage.rss() / 1_048_576 })))
}

/** Returns the same bytes with the same headers, and 304 for conditional requests. */
function bare(bodyFile: string, headersText: string): void {
  const body = readFileSync(bodyFile)
  const headers = JSON.parse(headersText) as Record<string, string>
  const server = createServer((request, response) => {
    if (request.headers['if-none-match'] !== undefined) response.writeHead(304, headers).end()
    else response.writeHead(200, { ...headers, 'content-length': body.length }).end(body)
  })
  server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })))
}

/** Sends one request at a time per connection. Prints how many responses had the expected status. */
async function load(port: string, request: string, secondsText: string, connectionsText: string, status: string) {
  const endMs = performance.now() + Number(secondsText) * 1000
  let done = 0
  let failed = 0
  const drive = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1', () => socket.write(request))
      let head = Buffer.alloc(0)
      let left = -1
      socket.setNoDelay(true)
      socket.on('error', reject)
      socket.on('close', () => resolve())
      socket.on('data', (bytes: Buffer) => {
        if (left < 0) {
          head = Buffer.concat([head, bytes])
          const end = head.indexOf('\r\n\r\n')
          if (end < 0) return
          const text = head.toString('latin1', 0, end)
          if (text.slice(9, 12) !== status) failed += 1
          left = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0) - (head.length - end - 4)
          head = Buffer.alloc(0)
        } else left -= bytes.length
        if (left > 0) return
        left = -1
        done += 1
        if (performance.now() >= endMs) socket.destroy()
        else socket.write(request)
      })
    })
  const startMs = performance.now()
  await Promise.all(Array.from({ length: Number(connectionsText) }, drive))
  console.log(JSON.stringify({ done, failed, seconds: (performance.now() - startMs) / 1000 }))
}

const [role, ...args] = process.argv.slice(2) as [string, ...string[]]
if (role === 'serve') await serve(args[0] ?? '')
else if (role === 'bare') bare(args[0] ?? '', args[1] ?? '{}')
else await load(args[0] ?? '', args[1] ?? '', args[2] ?? '', args[3] ?? '', args[4] ?? '')
