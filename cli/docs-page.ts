// Where a user finds a page of the documentation: in a clone as a file, with the package at the address of a server, which
// serves all pages under /docs. The package has no such files.
import { basename } from 'node:path'

const isPackage = basename(import.meta.filename).endsWith('.js')

export function docsPage(name: string, env: NodeJS.ProcessEnv = process.env, isInstalled: boolean = isPackage): string {
  if (!isInstalled) return `docs/${name}.md`
  const server = env.TETRAD_URL || 'http://127.0.0.1:8080'
  return `${server.replace(/\/+$/, '')}/docs/${name} (of a running server)`
}
