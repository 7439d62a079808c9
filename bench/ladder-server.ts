// A node:http server that does the first steps of what tetrad does with a request (ladder.ts). Prints its port.
// Arguments: a file with the body, a file with the headers as a flat list, and the number of steps.
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

const [, , bodyFile = '', headersFile = '', stepsText = '0'] = process.argv
const steps = Number(stepsText)
const body = readFileSync(bodyFile)
const headers = JSON.parse(readFileSync(headersFile, 'utf8')) as string[]
/** Connections are idle between the bursts of the measurement. */
const patient = { keepAliveTimeout: 600_000, headersTimeout: 0, requestTimeout: 0 }
const limits = { maxHeaderSize: 80_000, connectionsCheckingInterval: 1000, requireHostHeader: false }

/** Together more compiled code than fits in the first cache of a processor. */
const otherCode = Array.from({ length: 150 }, (_, at) => {
  const lines = Array.from({ length: 40 }, (_, line) => `x = (x * ${at * 41 + line} + 3) | 0; if (x === ${at}) x ^= 1`)
  return new Function('x', `${lines.join('\n')}\nreturn x`) as (x: number) => number
})
/** Keeps results in use, so that the compiler cannot remove the code. */
let sink = 0
const runOtherCode = () => {
  for (const run of otherCode) sink = run(sink)
}

function read({ headers: given, rawHeaders, socket }: IncomingMessage): void {
  for (const part of rawHeaders) sink += part.length
  sink += (given['x-request-id'] ?? '').length + (socket.remoteAddress ?? '').length
}

let count = 0
const server = createServer({ ...patient, ...(steps >= 1 && limits) }, (request, response) => {
  if (steps >= 3) read(request)
  if (steps >= 4) runOtherCode()
  if (steps >= 5) runOtherCode()
  count += 1
  const list = ['content-type', 'application/json; charset=utf-8', 'content-length', String(body.length)]
  response.writeHead(200, steps < 2 ? list : headers.with(1, `ladder-${count.toString(36)}`))
  response.end(body)
})
if (steps >= 1) server.timeout = 120_000
// Compiled before the first request.
for (let round = 0; round < 20_000; round++) runOtherCode()
server.listen(0, '127.0.0.1', () => console.log(JSON.stringify({ port: (server.address() as AddressInfo).port })))
