// Serves the recorded responses of a beacon node over HTTP, and provides independently computed figures of its chain.
//   await using node = await openReplay()
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { zstdDecompressSync } from 'node:zlib'

/** `path`: in the folder of recordings, without the ending. */
export const unpackRecording = (path: string): string =>
  zstdDecompressSync(readFileSync(resolve(import.meta.dirname, 'recordings', `${path}.zst`))).toString()

export interface Exchange {
  readonly method: string
  readonly path: string
  readonly accept: string
  /** Some recordings have several answers to one path, for different bodies. */
  readonly requestBody?: string | null
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bodyEncoding: 'utf8' | 'base64'
  readonly body: string
}

const unpacked = new Map<string, readonly Exchange[]>()

/** Unpacked once per process. */
export function exchangesOf(path: string): readonly Exchange[] {
  const lines = () => unpackRecording(path).trim().split('\n')
  const exchanges = unpacked.get(path) ?? lines().map((line) => JSON.parse(line) as Exchange)
  unpacked.set(path, exchanges)
  return exchanges
}

export interface TruthRow {
  readonly validator: number
  readonly assigned: number
  readonly included: number
  readonly inclusionDelay: number | null
  readonly sourceCorrect: number
  readonly targetCorrect: number
  readonly headCorrect: number
  readonly inclusions: number
  readonly timelySource: number
  readonly timelyTarget: number
  readonly proposerDuties: number
  readonly proposed: number
  readonly proposedEmptyPayload: number
  readonly syncDuties: number
  readonly syncSigned: number
}

export interface Truth {
  readonly slots: readonly {
    readonly slot: number
    readonly proposed: number | null
    readonly reward?: { readonly proposer: number; readonly attestations: number; readonly sync: number }
  }[]
  readonly constants: { readonly baseRewardPerIncrement: number; readonly syncParticipantReward: number }
  readonly epochs: readonly {
    readonly epoch: number
    readonly rows: readonly TruthRow[]
    readonly attestationRewards: readonly Readonly<Record<'source' | 'target' | 'head' | 'inactivity', number>>[]
  }[]
}

export const truth = (): Truth => JSON.parse(unpackRecording('beacon/truth.json')) as Truth

export interface ReplayOptions {
  /** Folder of the recording. */
  readonly recording?: string
  /** The file of its answers. */
  readonly file?: string
  /** Further files of the recording. */
  readonly more?: readonly string[]
  /** Offer SSZ. */
  readonly ssz?: boolean
  /** Changes a response; undefined closes the connection. */
  readonly meddle?: (exchange: Exchange, count: number) => Exchange | undefined
}

export interface Replay extends AsyncDisposable {
  readonly url: string
  readonly requests: readonly string[]
}

const sszType = 'application/octet-stream'

const keyOf = (method: string, path: string, accept: string, body = ''): string => `${method} ${path} ${accept} ${body}`

export async function openReplay({
  recording = 'beacon',
  file = 'exchanges.ndjson',
  more = recording === 'beacon' ? ['derived', 'states'] : [],
  ssz = true,
  meddle,
}: ReplayOptions = {}): Promise<Replay> {
  const exchanges = new Map<string, Exchange>()
  for (const exchange of [
    ...exchangesOf(`${recording}/${file}`),
    ...more.flatMap((name) => exchangesOf(`${recording}/${name}.ndjson`)),
  ]) {
    const { method, path, requestBody } = exchange
    // Events, and answers of an execution node.
    if (path === undefined || path === '/') continue
    const accept = exchange.accept.startsWith(sszType) ? sszType : 'application/json'
    exchanges.set(keyOf(method, path, accept), exchange)
    exchanges.set(keyOf(method, path, accept, requestBody ?? ''), exchange)
  }
  const requests: string[] = []
  const server = createServer(async (request, response) => {
    const { method = 'GET', url = '/', headers } = request
    requests.push(`${method} ${url}`)
    const sent = await text(request)
    const wantsSsz = ssz && headers.accept?.includes(sszType) === true
    const find = (accept: string) =>
      exchanges.get(keyOf(method, url, accept, sent)) ?? exchanges.get(keyOf(method, url, accept))
    const recorded = (wantsSsz ? find(sszType) : undefined) ?? find('application/json')
    const original: Exchange = recorded ?? {
      method,
      path: url,
      accept: '',
      status: 404,
      headers: {},
      bodyEncoding: 'utf8',
      body: '{"code":404,"message":"not recorded"}',
    }
    const exchange = meddle ? meddle(original, requests.length) : original
    if (!exchange) return void request.socket.destroy()
    response.writeHead(exchange.status, exchange.headers)
    response.end(Buffer.from(exchange.body ?? '', exchange.bodyEncoding))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
