// Goal: 4.1 with 100 000 labels is as fast as a bare node:http server that returns the same bytes: the full list,
// compressed, as a link, and with 304. Servers run in their own processes; rounds alternate; the ratio is that of the
// medians. Also prints the time to write the labels, the first response after a change, and the memory at the end.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { median } from './measure.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 5)
const seconds = Number(process.env.BENCH_SECONDS ?? 2)
const dir = mkdtempSync(join(tmpdir(), 'tetrad-labels-'))
const children: ChildProcess[] = []

function launch(...args: string[]): { child: ChildProcess; line: <T>() => Promise<T> } {
  const file = join(import.meta.dirname, 'labels-parts.ts')
  const child = spawn(process.execPath, [file, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  if (!child.stdout) throw new Error('no output to read')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { child, line: async () => JSON.parse(String((await lines.next()).value)) }
}

/** Not fetch, which decompresses responses. */
const sendRequest = (port: number, path: string, headers: Record<string, string>) =>
  new Promise<{ body: Buffer; headers: Record<string, string>; tookMs: number }>((resolve, reject) => {
    const startMs = performance.now()
    get({ host: '127.0.0.1', port, path, headers }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      const selected = ['content-type', 'content-encoding', 'etag', 'vary'].flatMap((name) => {
        const value = response.headers[name]
        return typeof value === 'string' ? [[name, value] as const] : []
      })
      const tookMs = performance.now() - startMs
      resolve({ body: Buffer.concat(chunks), headers: Object.fromEntries(selected), tookMs })
    }).on('error', reject)
  })

interface Case {
  readonly name: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly connections: number
  readonly status?: 200 | 304
}

const rate = (value: number) => `${value < 100 ? value.toFixed(1) : Math.round(value).toLocaleString('en')}/s`

async function compare(port: number, { name, path, headers = {}, connections, status = 200 }: Case): Promise<void> {
  const { 'if-none-match': _, ...plain } = headers
  const sample = await sendRequest(port, path, plain)
  const file = join(dir, 'body')
  writeFileSync(file, sample.body)
  const baseline = launch('bare', file, JSON.stringify(sample.headers))
  const bare = await baseline.line<{ port: number }>()
  const sent = status === 304 ? { ...headers, 'if-none-match': sample.headers.etag ?? '' } : headers
  const lines = Object.entries(sent).map(([header, value]) => `${header}: ${value}\r\n`)
  const request = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}\r\n`
  const load = async (at: number, forSeconds: number) => {
    const args = ['load', String(at), request, String(forSeconds), String(connections), String(status)]
    const {
      done,
      failed,
      seconds: took,
    } = await launch(...args).line<{ done: number; failed: number; seconds: number }>()
    if (failed > 0) throw new Error(`${name}: ${failed} of ${done} responses were not ${status}`)
    return done / took
  }
  const ours: number[] = []
  const theirs: number[] = []
  await load(port, 0.5)
  await load(bare.port, 0.5)
  for (let round = 0; round < rounds; round++) {
    ours.push(await load(port, seconds))
    theirs.push(await load(bare.port, seconds))
  }
  baseline.child.kill('SIGKILL')
  const size = status === 304 ? 'no body' : `body ${sample.body.length.toLocaleString('en')} bytes`
  const ratio = (median(ours) / median(theirs)).toFixed(2)
  console.log(`${name.padEnd(28)} ratio ${ratio}  tetrad ${rate(median(ours))}  bare ${rate(median(theirs))}  ${size}`)
}

try {
  const server = launch('serve', join(dir, 'data'))
  const { port, key, writtenMs, labelCount } = await server.line<
    Record<'port' | 'writtenMs' | 'labelCount', number> & { key: string }
  >()
  console.log(`${labelCount.toLocaleString('en')} labels written with history in ${Math.round(writtenMs)} ms`)
  const list = `/v2/api?chainid=1&module=nametag&action=getlabelmasterlist&apikey=${encodeURIComponent(key)}`
  for (const [encoding, headers] of [
    ['plain', {}],
    ['gzip', { 'accept-encoding': 'gzip' }],
    ['br', { 'accept-encoding': 'br' }],
  ] as const) {
    const { tookMs } = await sendRequest(port, list, headers)
    console.log(`first response after a change, ${encoding.padEnd(5)} ${Math.round(tookMs)} ms`)
  }
  const { body } = await sendRequest(port, `${list}&format=json`, {})
  const link = new URL((JSON.parse(body.toString()) as { result: string }).result)
  const gzip = { 'accept-encoding': 'gzip' }
  await compare(port, { name: '4.1 full list', path: list, connections: 4 })
  await compare(port, { name: '4.1 full list, gzip', path: list, headers: gzip, connections: 8 })
  await compare(port, { name: '4.1 304', path: list, connections: 32, status: 304 })
  await compare(port, { name: '4.1 link', path: `${list}&format=json`, connections: 32 })
  await compare(port, {
    name: 'file of the link, gzip',
    path: link.pathname + link.search,
    headers: gzip,
    connections: 8,
  })
  server.child.stdin?.write('memory\n')
  const { residentMiB } = await server.line<{ residentMiB: number }>()
  console.log(`memory of the server at the end ${Math.round(residentMiB)} MiB`)
} finally {
  for (const child of children) child.kill('SIGKILL')
  rmSync(dir, { recursive: true, force: true })
}
