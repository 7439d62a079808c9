// Serves the built console and the documentation site (`npm run console`) from memory
// (behaviour/operations.md#console-files). Request paths are never looked up on disk, so path traversal is impossible.
//
// 1. A build is read on the first request, and again when its start page or its list of assets has changed.
// 2. Assets of the previous build are kept, for pages that are still open in a browser.
// 3. Each file is compressed once per encoding, off the main thread.
import { join } from 'node:path'
import { Fault } from '#core/fault.ts'
import { CompressedBytes, chooseEncoding, compressedBytesMin } from '#http/compressed-bytes.ts'
import { etagOf, isUnchanged } from '#http/etag.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ApiResponse } from '#http/render.ts'
import type { ExtraRoute } from '#http/routes.ts'
import { fileStamp, readFolder } from '#runtime/read-folder.ts'
import type { Settings } from '#runtime/settings.ts'
import { unbuiltPage } from './unbuilt-page.ts'

const limits = { filesMax: 200, bytesMax: 33_554_432 }

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
  yaml: 'text/plain; charset=utf-8',
  yml: 'text/plain; charset=utf-8',
}

class StaticFile {
  readonly #type: string
  readonly #content: CompressedBytes
  readonly #isCompressible: boolean

  constructor(name: string, bytes: Uint8Array) {
    this.#type = types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'
    this.#content = new CompressedBytes(bytes, etagOf(bytes))
    this.#isCompressible = bytes.byteLength >= compressedBytesMin && !/png|woff2|octet/.test(this.#type)
  }

  async toResponse(request: ApiRequest, headers: Record<string, string>, status = 200): Promise<ApiResponse> {
    const encoding = this.#isCompressible ? chooseEncoding(request.headers['accept-encoding']) : 'identity'
    const { bytes, etag, headers: encodingHeaders } = await this.#content.encodedAs(encoding)
    const all = { 'content-type': this.#type, etag, ...headers, ...(this.#isCompressible && encodingHeaders) }
    if (status === 200 && isUnchanged(request.headers, etag)) return { status: 304, headers: all, body: '' }
    return { status, headers: all, body: bytes }
  }
}

/** `index.html`, `assets/index-4f2a.js`. */
type FilesByPath = ReadonlyMap<string, StaticFile>

class StaticFiles {
  readonly #dir: string
  readonly #folders: readonly string[]
  #build: Promise<{ readonly stamp: string; readonly files: FilesByPath }> | undefined
  #previous: FilesByPath = new Map()

  constructor(dir: string, folders: readonly string[]) {
    this.#dir = dir
    this.#folders = folders
  }

  /** A file of the current build. */
  async find(path: string): Promise<StaticFile | undefined> {
    const stamps = ['index.html', ...this.#folders].map((name) => fileStamp(join(this.#dir, name)))
    const stamp = (await Promise.all(stamps)).join(' ')
    const known = await this.#build
    if (!known || known.stamp !== stamp) {
      if (known && known.files.size > 0) this.#previous = known.files
      this.#build = this.#read(stamp)
      // Retry a build that is still being written.
      this.#build.catch(() => {
        this.#build = undefined
      })
    }
    return (await this.#build)?.files.get(path)
  }

  /** A file whose name changes with its content: also of the previous build. */
  async findAsset(path: string): Promise<StaticFile | undefined> {
    return (await this.#build)?.files.get(path) ?? (await this.find(path)) ?? this.#previous.get(path)
  }

  async #read(stamp: string) {
    const files = new Map<string, StaticFile>()
    for (const folder of ['', ...this.#folders]) {
      for (const [name, bytes] of await readFolder(join(this.#dir, folder), limits))
        files.set(folder === '' ? name : `${folder}/${name}`, new StaticFile(name, bytes))
    }
    return { stamp, files }
  }
}

/** No external or inline content and no frames. Requests to the host names of groups are allowed. */
function policyOf({ groups }: Settings): string {
  const hosts = Object.values(groups).flatMap(({ enabled, host }) => (enabled && host !== '' ? [`${host}:*`] : []))
  const connect = ["'self'", ...new Set(hosts)].join(' ')
  return `default-src 'self'; img-src 'self' data:; connect-src ${connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
}

type PageHeaders = Readonly<Record<'cache-control' | 'content-security-policy', string>>

const unbuilt = (headers: PageHeaders): ApiResponse => unbuiltPage(headers['content-security-policy'])

export function pageRoutes(settings: Settings, dir: string): readonly ExtraRoute[] {
  const pageHeaders = { 'cache-control': 'no-cache', 'content-security-policy': policyOf(settings) }
  return [...consolePageRoutes(dir, pageHeaders), ...documentationRoutes(join(dir, 'docs'), pageHeaders)]
}

function consolePageRoutes(dir: string, pageHeaders: PageHeaders): readonly ExtraRoute[] {
  const files = new StaticFiles(dir, ['assets'])
  return [
    {
      path: '/',
      sameOrigin: true,
      read: async (request) =>
        (await files.find('index.html'))?.toResponse(request, pageHeaders) ?? unbuilt(pageHeaders),
    },
    {
      path: '/favicon.svg',
      sameOrigin: true,
      read: async (request) => sendFile(await files.find('favicon.svg'), request, dayCache),
    },
    {
      path: '/assets/{file}',
      sameOrigin: true,
      // The name of an asset changes with its content.
      read: async (request) =>
        sendFile(await files.findAsset(`assets/${request.params.file ?? ''}`), request, immutableCache),
    },
  ]
}

/** Folders of the documentation site. */
const documentationFolders = ['endpoints', 'behaviour', 'decisions', 'files']

/** No page is deeper than two segments. The others are for the page "not found". */
const documentationPaths = [
  ...['/docs/', '/docs/{file}', '/docs/{folder}/', '/docs/{folder}/{file}'],
  ...['/docs/{folder}/{subfolder}/', '/docs/{folder}/{subfolder}/{file}'],
]
const notFoundFile = '404.html'

/** The links between the pages are relative, so the start page needs the slash at its end. */
function documentationRoutes(dir: string, pageHeaders: PageHeaders): readonly ExtraRoute[] {
  const files = new StaticFiles(dir, documentationFolders)
  const read: ExtraRoute['read'] = async (request) => {
    const { folder, subfolder, file = 'index.html' } = request.params
    const path = [folder, subfolder, file].filter((part) => part !== undefined).join('/')
    const found = path === notFoundFile ? undefined : await files.find(path)
    if (found) return found.toResponse(request, pageHeaders)
    const notFound = await files.find(notFoundFile)
    return notFound ? notFound.toResponse(request, pageHeaders, 404) : unbuilt(pageHeaders)
  }
  return [
    { path: '/docs', sameOrigin: true, read: async () => ({ status: 308, headers: { location: '/docs/' }, body: '' }) },
    ...documentationPaths.map((path) => ({ path, sameOrigin: true as const, read })),
  ]
}

const dayCache = { 'cache-control': 'public, max-age=86400' }
const immutableCache = { 'cache-control': 'public, max-age=31536000, immutable' }

async function sendFile(
  file: StaticFile | undefined,
  request: ApiRequest,
  headers: Record<string, string>,
): Promise<ApiResponse> {
  if (!file) throw new Fault('route.unknown')
  return file.toResponse(request, headers)
}
