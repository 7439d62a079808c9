// A market feed for bench/tails.ts, in a process of its own: empty until a POST request, then the given number of records,
// in pages. After a DELETE request it is gone (404), so that the reader stops at once. Prints its URL.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { manyMarkets } from './many-markets.ts'

const pageSize = 100
const records = Array.from(manyMarkets({ seed: 'bench', count: Number(process.argv[2]), perEvent: 10 }), (record) =>
  JSON.stringify(record),
)
let [isStarted, isGone] = [false, false]

const server = createServer(({ method, url = '/' }, response) => {
  if (method === 'POST') isStarted = true
  if (method === 'DELETE') isGone = true
  const offset = Number(new URL(url, 'http://feed').searchParams.get('offset') ?? 0)
  const page = isStarted ? records.slice(offset, offset + pageSize) : []
  response
    .writeHead(isGone && method === 'GET' ? 404 : 200, { 'content-type': 'application/json' })
    .end(`[${page.join()}]`)
})
server.listen(0, '127.0.0.1', () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/markets` }))
})
