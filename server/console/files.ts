// The pages of the console: what `npm run console` built, handed out from memory. Nothing a caller names is ever looked up
// on the disk, so there is no path to climb out of (decision 0125).
//
// 1. A build is read when it is first asked for, and again when its page or its list of parts has changed.
// 2. The parts of the build before are kept, for pages that are open in a browser; of older ones they are not.
// 3. Packing happens once per file and kind, off the main thread.
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { encodingFor } from '#core/accept-encoding.ts'
import { etagOf, isUnchanged } from '#core/etag.ts'
import { Fault } from '#core/fault.ts'
import type { Settings } from '#core/settings.ts'
import { readFolder, stampOf } from '#io/folder.ts'
import type { Request } from '#serve/pipeline.ts'
import type { Departure } from '#serve/render.ts'
import type { Extra } from '#serve/ways.ts'
import { unbuiltPage } from './unbuilt.ts'

const limits = { filesMax: 200, bytesMax: 33_554_432 }
/** Less is not worth packing. */
const packedFrom = 1024
const brotliQuality = 5

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  woff2: 'font/woff2',
  json: 'application/json; charset=utf-8',
  map: 'application/json; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
}

/** What a file may leave packed in, best first. */
const encodings = ['br', 'gzip'] as const
type Encoding = (typeof encodings)[number]
const encoders: Readonly<Record<Encoding, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  br: (bytes) => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  gzip: (bytes) => gzipped(bytes),
}
const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

/** One file in every form it may leave in. */
class Part {
  readonly type: string
  readonly etag: string
  readonly #plain: Uint8Array
  readonly #packed = new Map<Encoding, Promise<Uint8Array>>()

  constructor(name: string, bytes: Uint8Array) {
    this.type = types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
    this.etag = etagOf(bytes)
    this.#plain = bytes
  }

  async departure(request: Request, headers: Record<string, string>): Promise<Departure> {
    const isPackable = this.#plain.byteLength >= packedFrom && !/png|woff2|octet/.test(this.type)
    const encoding = isPackable ? encodingFor(request.headers['accept-encoding'], encodings) : undefined
    // Other bytes, another tag.
    const etag = encoding ? `${this.etag.slice(0, -1)}-${encoding}"` : this.etag
    const all = {
      ...{ 'content-type': this.type, etag, ...headers },
      ...(isPackable && { vary: 'accept-encoding' }),
      ...(encoding && { 'content-encoding': encoding }),
    }
    if (isUnchanged(request.headers, etag)) return { status: 304, headers: all, body: '' }
    return { status: 200, headers: all, body: encoding ? await this.#pack(encoding) : this.#plain }
  }

  #pack(encoding: Encoding): Promise<Uint8Array> {
    const known = this.#packed.get(encoding) ?? encoders[encoding](this.#plain)
    this.#packed.set(encoding, known)
    return known
  }
}

interface Build {
  readonly stamp: string
  /** `index.html`, `favicon.svg`. */
  readonly top: ReadonlyMap<string, Part>
  readonly assets: ReadonlyMap<string, Part>
}

class Shelf {
  readonly #dir: string
  #build: Promise<Build> | undefined
  #before: ReadonlyMap<string, Part> = new Map()

  constructor(dir: string) {
    this.#dir = dir
  }

  async page(): Promise<Part | undefined> {
    const [page, assets] = await Promise.all(['index.html', 'assets'].map((name) => stampOf(join(this.#dir, name))))
    const stamp = `${page} ${assets}`
    const known = await this.#build
    if (!known || known.stamp !== stamp) {
      if (known?.assets.size) this.#before = known.assets
      this.#build = this.#read(stamp)
      // A build that is half written is looked at again.
      this.#build.catch(() => {
        this.#build = undefined
      })
    }
    return (await this.#build)?.top.get('index.html')
  }

  async top(name: string): Promise<Part | undefined> {
    await this.page()
    return (await this.#build)?.top.get(name)
  }

  async asset(name: string): Promise<Part | undefined> {
    const known = (await this.#build)?.assets.get(name)
    if (known) return known
    await this.page()
    return (await this.#build)?.assets.get(name) ?? this.#before.get(name)
  }

  async #read(stamp: string): Promise<Build> {
    const parts = async (dir: string) =>
      new Map([...(await readFolder(dir, limits))].map(([name, bytes]) => [name, new Part(name, bytes)] as const))
    return { stamp, top: await parts(this.#dir), assets: await parts(join(this.#dir, 'assets')) }
  }
}

/** Nothing from elsewhere, nothing inline, no frames; groups under host names of their own may be asked. */
function policyOf({ groups }: Settings): string {
  const hosts = Object.values(groups).flatMap(({ on, host }) => (on && host !== '' ? [`${host}:*`] : []))
  const connect = ["'self'", ...new Set(hosts)].join(' ')
  return `default-src 'self'; img-src 'self' data:; connect-src ${connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
}

export function pagePaths(settings: Settings, dir: string): readonly Extra[] {
  const shelf = new Shelf(dir)
  const pageHeaders = { 'cache-control': 'no-cache', 'content-security-policy': policyOf(settings) }
  const page: Extra['reply'] = async (request) =>
    (await shelf.page())?.departure(request, pageHeaders) ?? unbuiltPage(pageHeaders['content-security-policy'])
  return [
    { path: '/', sameOrigin: true, reply: page },
    { path: '/docs', sameOrigin: true, reply: page },
    {
      path: '/favicon.svg',
      sameOrigin: true,
      reply: async (request) => sent(await shelf.top('favicon.svg'), request, 'public, max-age=86400'),
    },
    {
      path: '/assets/{file}',
      sameOrigin: true,
      // Their names change with their bytes.
      reply: async (request) =>
        sent(await shelf.asset(request.params.file ?? ''), request, 'public, max-age=31536000, immutable'),
    },
  ]
}

async function sent(part: Part | undefined, request: Request, cacheControl: string): Promise<Departure> {
  if (!part) throw new Fault('route.unknown')
  return part.departure(request, { 'cache-control': cacheControl })
}
