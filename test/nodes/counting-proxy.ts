// Counts the requests to a node and the bytes of its answers, and changes nothing.
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface CountingProxy {
  readonly name: string
  readonly url: string
  readonly counts: { requests: number; bytes: number }
  close(): void
}

/** `name`: for the output. */
export async function openCountingProxy(name: string, target: string): Promise<CountingProxy> {
  const counts = { requests: 0, bytes: 0 }
  const server = createServer((received, response) => {
    counts.requests += 1
    const { method, url, headers } = received
    const forwarded = request(target + url, { method, headers }, (reply) => {
      reply.on('data', (chunk: Buffer) => {
        counts.bytes += chunk.length
      })
      response.writeHead(reply.statusCode ?? 502, reply.headers)
      reply.pipe(response)
      reply.on('error', () => response.destroy())
    })
    forwarded.on('error', () => response.destroy())
    response.on('close', () => forwarded.destroy())
    received.pipe(forwarded)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    ...{ name, counts },
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

export function printCounts(proxies: readonly CountingProxy[], epochs: number): void {
  for (const { name, counts } of proxies) {
    const [requests, kilobytes] = [counts.requests / epochs, counts.bytes / epochs / 1000]
    process.stdout.write(`${name}: ${requests.toFixed(1)} requests and ${kilobytes.toFixed(1)} kB per epoch\n`)
  }
}
