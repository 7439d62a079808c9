// Resolves imports between our own files in the thread that loads this file: that of the launcher, and with `--import`
// those of tests and worker threads. Node searches the disk several times for each of them, which takes a fifth of a
// start (decisions/load-only-what-a-start-needs.md). Plain JavaScript, because it has to load fast.
import { existsSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ownFolder = dirname(fileURLToPath(import.meta.url))
// The package contains JavaScript in dist/. In a checkout, the sources run.
const isPackage = !existsSync(join(ownFolder, 'main.ts'))
const root = isPackage ? join(ownFolder, '../dist') : dirname(ownFolder)
const [extension, format] = isPackage ? ['.js', 'module'] : ['.ts', 'module-typescript']
const { imports = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const rootUrl = `${pathToFileURL(root)}/`
const packagesUrl = `${rootUrl}node_modules/`
const folders = new Map(
  Object.entries(imports).map(([alias, path]) => [alias.slice(0, -1), rootUrl + path.slice('./'.length, -1)]),
)

function urlOf(specifier, from) {
  if (specifier.startsWith('.')) return new URL(specifier, from).href
  const aliasEnd = specifier.indexOf('/') + 1
  const folder = folders.get(specifier.slice(0, aliasEnd))
  return folder && folder + specifier.slice(aliasEnd)
}

registerHooks({
  resolve(specifier, context, nextResolve) {
    const { parentURL = '' } = context
    const isOwn = specifier.endsWith(extension) && parentURL.startsWith(rootUrl) && !parentURL.startsWith(packagesUrl)
    const url = isOwn ? urlOf(specifier, parentURL) : undefined
    return url ? { url, format, shortCircuit: true } : nextResolve(specifier, context)
  },
})
