// Serves the built console (`npm run console`) from memory (behaviour/operations.md#console-files). Request paths are
// never looked up on disk, so path traversal is impossible.
//
// 1. The build is read on the first request, and again when its page or its list of assets has changed.
// 2. Assets of the previous build are kept, for pages that are still open in a browser.
// 3. Each file is compressed once per encoding, off the main thread.
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { Fault } from '#core/fault.ts'
import { encodingFor } from '#http/accept-encoding.ts'
import { etagOf, isUnchanged } from '#http/etag.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ApiResponse } from '#http/render.ts'
import type { ExtraRoute } from '#http/routes.ts'
import { fileStamp, readFolder } from '#runtime/read-folder.ts'
import type { Settings } from '#runtime/settings.ts'
import { unbuiltPage } from './unbuilt-page.ts'

const limits = { filesMax: 200, bytesMax: 33_554_432 }
/** Smaller files are not compressed. */
const compressedBytesMin = 1024
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

/** Supported encodings, best first. */
const encodings = ['br', 'gzip'] as const
type Encoding = (typeof encodings)[number]
const encoders: Readonly<Record<Encoding, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  br: (bytes) => brotli(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  gzip: (bytes) => gzipped(bytes),
}
const brotli = promisify(brotliCompress)
const gzipped = promisify(gzip)

/** A file with its encodings. */
class StaticFile {
  readonly type: string
  readonly etag: string
  readonly #bytes: Uint8Array
  readonly #compressed = new Map<Encoding, Promise<Uint8Array>>()

  constructor(name: string, bytes: Uint8Array) {
    this.type = types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
    this.etag = etagOf(bytes)
    this.#bytes = bytes
  }

  async toResponse(request: ApiRequest, headers: Record<string, string>): Promise<ApiResponse> {
    const isCompressible = this.#bytes.byteLength >= compressedBytesMin && !/png|woff2|octet/.test(this.type)
    const encoding = isCompressible ? encodingFor(request.headers['accept-encoding'], encodings) : undefined
    // A strong etag identifies the bytes, so each encoding has its own.
    const etag = encoding ? `${this.etag.slice(0, -1)}-${encoding}"` : this.etag
    const all = {
      'content-type': this.type,
      etag,
      ...headers,
      ...(isCompressible && { vary: 'accept-encoding' }),
      ...(encoding && { 'content-encoding': encoding }),
    }
    if (isUnchanged(request.headers, etag)) return { status: 304, headers: all, body: '' }
    return { status: 200, headers: all, body: encoding ? await this.#compress(encoding) : this.#bytes }
  }

  #compress(encoding: Encoding): Promise<Uint8Array> {
    const known = this.#compressed.get(encoding) ?? encoders[encoding](this.#bytes)
    this.#compressed.set(encoding, known)
    return known
  }
}

interface Build {
  readonly stamp: string
  /** `index.html`, `favicon.svg`. */
  readonly top: ReadonlyMap<string, StaticFile>
  readonly assets: ReadonlyMap<string, StaticFile>
}

class StaticFiles {
  readonly #dir: string
  #build: Promise<Build> | undefined
  #previousAssets: ReadonlyMap<string, StaticFile> = new Map()

  constructor(dir: string) {
    this.#dir = dir
  }

  async page(): Promise<StaticFile | undefined> {
    const [page, assets] = await Promise.all(['index.html', 'assets'].map((name) => fileStamp(join(this.#dir, name))))
    const stamp = `${page} ${assets}`
    const known = await this.#build
    if (!known || known.stamp !== stamp) {
      if (known?.assets.size) this.#previousAssets = known.assets
      this.#build = this.#read(stamp)
      // Retry a build that is still being written.
      this.#build.catch(() => {
        this.#build = undefined
      })
    }
    return (await this.#build)?.top.get('index.html')
  }

  async rootFile(name: string): Promise<StaticFile | undefined> {
    await this.page()
    return (await this.#build)?.top.get(name)
  }

  async asset(name: string): Promise<StaticFile | undefined> {
    const known = (await this.#build)?.assets.get(name)
    if (known) return known
    await this.page()
    return (await this.#build)?.assets.get(name) ?? this.#previousAssets.get(name)
  }

  async #read(stamp: string): Promise<Build> {
    const readFiles = async (dir: string) =>
      new Map([...(await readFolder(dir, limits))].map(([name, bytes]) => [name, new StaticFile(name, bytes)] as const))
    return { stamp, top: await readFiles(this.#dir), assets: await readFiles(join(this.#dir, 'assets')) }
  }
}

/** No external or inline content and no frames. Requests to the host names of groups are allowed. */
function policyOf({ groups }: Settings): string {
  const hosts = Object.values(groups).flatMap(({ enabled, host }) => (enabled && host !== '' ? [`${host}:*`] : []))
  const connect = ["'self'", ...new Set(hosts)].join(' ')
  return `default-src 'self'; img-src 'self' data:; connect-src ${connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
}

export function pageRoutes(settings: Settings, dir: string): readonly ExtraRoute[] {
  const files = new StaticFiles(dir)
  const pageHeaders = { 'cache-control': 'no-cache', 'content-security-policy': policyOf(settings) }
  const page: ExtraRoute['read'] = async (request) =>
    (await files.page())?.toResponse(request, pageHeaders) ?? unbuiltPage(pageHeaders['content-security-policy'])
  return [
    { path: '/', sameOrigin: true, read: page },
    { path: '/docs', sameOrigin: true, read: page },
    {
      path: '/favicon.svg',
      sameOrigin: true,
      read: async (request) => sendFile(await files.rootFile('favicon.svg'), request, 'public, max-age=86400'),
    },
    {
      path: '/assets/{file}',
      sameOrigin: true,
      // The name of an asset changes with its content.
      read: async (request) =>
        sendFile(await files.asset(request.params.file ?? ''), request, 'public, max-age=31536000, immutable'),
    },
  ]
}

async function sendFile(file: StaticFile | undefined, request: ApiRequest, cacheControl: string): Promise<ApiResponse> {
  if (!file) throw new Fault('route.unknown')
  return file.toResponse(request, { 'cache-control': cacheControl })
}
