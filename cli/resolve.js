// Resolves imports between our own files. Node searches the disk several times for each of them, which takes a fifth of a
// start (decisions/load-only-what-a-start-needs.md). Plain JavaScript, because the launcher uses it.
import { pathToFileURL } from 'node:url'

/**
 * `modules`: the module `node:module`. `root`: the folder of the files. `imports`: those of its package.json. `extension`
 * and `format`: those of the files.
 */
export function resolveOwnImports(modules, { root, imports = {}, extension, format }) {
  const rootUrl = `${pathToFileURL(root)}/`
  const packagesUrl = `${rootUrl}node_modules/`
  const folders = new Map(
    Object.entries(imports).map(([alias, path]) => [alias.slice(0, -1), rootUrl + path.slice('./'.length, -1)]),
  )
  const urlOf = (specifier, from) => {
    if (specifier.startsWith('.')) return new URL(specifier, from).href
    const aliasEnd = specifier.indexOf('/') + 1
    const folder = folders.get(specifier.slice(0, aliasEnd))
    return folder && folder + specifier.slice(aliasEnd)
  }
  modules.registerHooks({
    resolve(specifier, context, nextResolve) {
      const { parentURL = '' } = context
      const isOwn = specifier.endsWith(extension) && parentURL.startsWith(rootUrl) && !parentURL.startsWith(packagesUrl)
      const url = isOwn ? urlOf(specifier, parentURL) : undefined
      return url ? { url, format, shortCircuit: true } : nextResolve(specifier, context)
    },
  })
}
