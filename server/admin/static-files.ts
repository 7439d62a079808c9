// Serves the built console and the documentation site (`npm run console`) from memory
// (behaviour/operations.md#console-files). Request paths are never looked up on disk, so path traversal is impossible.
//
// 1. A build is read on the first request, and again when its start page or its list of assets has changed. Every file
//    in it is served: there is no list of its folders.
// 2. Assets of the previous build are kept, for pages that are still open in a browser.
// 3. Each file is compressed once per encoding (http/shared-file.ts).
import { join } from 'node:path'
import { Fault } from '#core/fault.ts'
import type { ApiRequest } from '#http/pipeline.ts'
import type { ApiResponse } from '#http/render.ts'
import type { ExtraRoute, NotFoundPage } from '#http/routes.ts'
import { createSharedFile, type SharedFile } from '#http/shared-file.ts'
import { fileStamp, readFolder } from '#runtime/read-folder.ts'
import type { Settings } from '#runtime/settings.ts'
import { consolePages } from '#shared/console-pages.ts'
import { unbuiltPage } from './unbuilt-page.ts'

const limits = { filesMax: 1000, bytesMax: 33_554_432 }

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

const typeOf = (name: string): string => types[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream'

/** `index.html`, `assets/index-4f2a.js`. */
type FilesByPath = ReadonlyMap<string, SharedFile>

interface FilesOptions {
  /** Files and folders that change with every build. */
  readonly stamped: readonly string[]
  readonly isIncluded?: (path: string) => boolean
}

type Files = ReturnType<typeof createFiles>

function createFiles(dir: string, { stamped, isIncluded }: FilesOptions) {
  let build: Promise<{ readonly stamp: string; readonly files: FilesByPath }> | undefined
  let previous: FilesByPath = new Map()

  async function read(stamp: string) {
    const contents = [...(await readFolder(dir, limits, isIncluded))]
    return { stamp, files: new Map(contents.map(([path, bytes]) => [path, createSharedFile(bytes, typeOf(path))])) }
  }

  /** A file of the current build. */
  async function find(path: string): Promise<SharedFile | undefined> {
    const stamp = (await Promise.all(stamped.map((name) => fileStamp(join(dir, name))))).join(' ')
    const known = await build
    if (!known || known.stamp !== stamp) {
      if (known && known.files.size > 0) previous = known.files
      build = read(stamp)
      // Retry a build that is still being written.
      build.catch(() => {
        build = undefined
      })
    }
    return (await build)?.files.get(path)
  }

  /** A file whose name changes with its content: also of the previous build. */
  const findAsset = async (path: string): Promise<SharedFile | undefined> =>
    (await build)?.files.get(path) ?? (await find(path)) ?? previous.get(path)

  return { find, findAsset }
}

/** No external or inline content and no frames. Requests to the host names of groups are allowed. */
function policyOf({ groups }: Settings): string {
  const hosts = Object.values(groups).flatMap(({ enabled, host }) => (enabled && host !== '' ? [`${host}:*`] : []))
  const connect = ["'self'", ...new Set(hosts)].join(' ')
  return `default-src 'self'; img-src 'self' data:; connect-src ${connect}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`
}

type PageHeaders = Readonly<Record<'cache-control' | 'content-security-policy', string>>

const notFoundHeaders = { 'cache-control': 'no-store', 'x-tetrad-fault': 'route.unknown' }

export interface Pages {
  readonly routes: readonly ExtraRoute[]
  /** The console, which shows that it has no such page. */
  readonly notFound: NotFoundPage
}

export function createPages(settings: Settings, dir: string): Pages {
  const pageHeaders = { 'cache-control': 'no-cache', 'content-security-policy': policyOf(settings) }
  const files = createFiles(dir, {
    stamped: ['index.html', 'assets'],
    isIncluded: (path) => !path.startsWith('docs/'),
  })
  return {
    routes: [...consolePageRoutes(files, pageHeaders), ...documentationRoutes(join(dir, 'docs'), pageHeaders)],
    notFound: async (headers) => {
      const page = await files.find('index.html')
      // Not stored, because programs get JSON from the same address.
      return page?.({ headers }, { ...pageHeaders, ...notFoundHeaders }, 404)
    },
  }
}

function consolePageRoutes(files: Files, pageHeaders: PageHeaders): readonly ExtraRoute[] {
  const readPage: ExtraRoute['read'] = async (request) =>
    (await files.find('index.html'))?.(request, pageHeaders) ?? unbuiltPage(pageHeaders)
  return [
    ...Object.values(consolePages)
      .flat()
      .map((path) => ({
        path,
        sameOrigin: true as const,
        read: readPage,
      })),
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

/** A path of the router has a fixed depth. No file of the build is deeper than three segments. */
const documentationPaths = [
  ...['/docs/', '/docs/{file}', '/docs/{folder}/', '/docs/{folder}/{file}'],
  ...['/docs/{folder}/{subfolder}/', '/docs/{folder}/{subfolder}/{file}'],
]
const notFoundFile = '404.html'

/**
 * Every file of the build, and every page also without ".html". The links between the pages are relative, so the address
 * of a folder needs the slash at its end.
 */
function documentationRoutes(dir: string, pageHeaders: PageHeaders): readonly ExtraRoute[] {
  // The build writes its start page last.
  const files = createFiles(dir, { stamped: ['index.html'] })
  const read: ExtraRoute['read'] = async (request) => {
    const { folder, subfolder, file = 'index.html' } = request.params
    const path = [folder, subfolder, file].filter((part) => part !== undefined).join('/')
    const found = path === notFoundFile ? undefined : ((await files.find(path)) ?? (await files.find(`${path}.html`)))
    if (found) return found(request, pageHeaders)
    if (await files.find(`${path}/index.html`)) return redirectTo(`${file}/`)
    const notFound = await files.find(notFoundFile)
    return notFound ? notFound(request, pageHeaders, 404) : unbuiltPage(pageHeaders)
  }
  return [
    { path: '/docs', sameOrigin: true, read: async () => redirectTo('/docs/') },
    ...documentationPaths.map((path) => ({ path, sameOrigin: true as const, read })),
  ]
}

const redirectTo = (location: string): ApiResponse => ({ status: 308, headers: { location }, body: '' })

const dayCache = { 'cache-control': 'public, max-age=86400' }
const immutableCache = { 'cache-control': 'public, max-age=31536000, immutable' }

async function sendFile(
  file: SharedFile | undefined,
  request: ApiRequest,
  headers: Record<string, string>,
): Promise<ApiResponse> {
  if (!file) throw new Fault('route.unknown')
  return file(request, headers)
}
