// An npm registry on loopback that offers the packages of this checkout, so that npm installs without a network. The
// metadata comes from the lock file, the files come from node_modules.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const modules = 'node_modules/'

interface LockedPackage {
  /** Only of a package that is installed under another name. */
  readonly name?: string
  readonly version: string
  readonly link?: boolean
  /** Where the files are. */
  readonly folder: string
}

export interface NpmRegistry extends AsyncDisposable {
  readonly url: string
}

export async function startNpmRegistry(): Promise<NpmRegistry> {
  const packages = await lockedPackages()
  const server = createServer(({ url = '' }, response) => {
    // npm asks once and uses its cache afterwards.
    response.setHeader('cache-control', 'max-age=86400, immutable')
    const [name = '', version] = decodeURIComponent(url.slice(1)).split('/-/')
    const versions = packages.get(name)
    if (!versions) return notFound(response)
    if (version === undefined) return sendMetadata(response, name, versions, origin())
    const found = versions.get(version.replace('.tgz', ''))
    return found ? sendFiles(response, found.folder) : notFound(response)
  })
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: origin(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** By name and version. The first version is the one that most packages use. */
async function lockedPackages() {
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage>
  }
  const found = new Map<string, Map<string, LockedPackage>>()
  const byDepth = Object.entries(lock.packages).sort(([one], [other]) => depthOf(one) - depthOf(other))
  for (const [path, locked] of byDepth) {
    if (!path.includes(modules) || locked.link) continue
    const name = locked.name ?? path.slice(path.lastIndexOf(modules) + modules.length)
    const versions = found.get(name) ?? new Map<string, LockedPackage>()
    found.set(name, versions.set(locked.version, { ...locked, folder: join(root, path) }))
  }
  return found
}

const depthOf = (path: string): number => path.split(modules).length

function sendMetadata(
  response: ServerResponse,
  name: string,
  packages: ReadonlyMap<string, LockedPackage>,
  url: string,
): void {
  const [latest] = packages.keys()
  const versions = Object.fromEntries(
    [...packages].map(([version, { folder, ...locked }]) => [
      version,
      { ...locked, name, integrity: undefined, dist: { tarball: `${url}/${name}/-/${version}.tgz` } },
    ]),
  )
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ name, 'dist-tags': { latest }, versions }))
}

/** Not compressed, which npm accepts. */
function sendFiles(response: ServerResponse, folder: string): void {
  const args = ['-c', '-C', folder, '--exclude=./node_modules', '--transform=s,^\\.,package,', '.']
  spawn('tar', args, { stdio: ['ignore', 'pipe', 'inherit'] }).stdout.pipe(response)
}

function notFound(response: ServerResponse): void {
  response.statusCode = 404
  response.end('{}')
}
