// Builds the npm package into dist/. It contains JavaScript, because Node does not strip types below node_modules. `npm
// pack` runs it. Every file that a process of Tetrad imports keeps its path and line numbers.
import { cp, glob, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, normalize } from 'node:path'
import manifest from '../package.json' with { type: 'json' }

const root = join(import.meta.dirname, '..')
/** The main files of its processes. */
const mainFiles = ['cli/main.ts', 'server/validators/chain/child-main.ts']
const ownImport = /(['"])((?:\.{1,2}|#\w+)\/[^'"\n]+)\.(ts|js)\1/g

/** Replaces `outDir`. Build the console first. */
export async function buildPackage(outDir: string): Promise<void> {
  await rm(outDir, { recursive: true, force: true })
  const files = new Set(mainFiles)
  // The set grows during the loop: each file adds its imports, including worker threads.
  for (const file of files) {
    const source = await readFile(join(root, file), 'utf8')
    const code = file.endsWith('.ts') ? stripTypeScriptTypes(source) : source
    for (const [, , path = '', extension] of code.matchAll(ownImport))
      files.add(`${resolveImport(file, path)}.${extension}`)
    const target = join(outDir, file.replace(/\.ts$/, '.js'))
    await mkdir(dirname(target), { recursive: true })
    await writeFile(target, code.replace(ownImport, '$1$2.js$1'))
  }
  const { name, version, description, type, imports } = manifest
  await writeFile(join(outDir, 'package.json'), JSON.stringify({ name, version, description, type, imports }))
  await cp(join(root, 'console/dist'), join(outDir, 'console/dist'), { recursive: true })
  // `tetrad mcp` offers the guides.
  for (const guide of await Array.fromAsync(glob('docs/*.md', { cwd: root })))
    await cp(join(root, guide), join(outDir, guide))
}

function resolveImport(from: string, path: string): string {
  if (path.startsWith('.')) return normalize(join(dirname(from), path))
  const [alias = ''] = path.split('/')
  const target = (manifest.imports as Record<string, string>)[`${alias}/*`]
  if (!target) throw new Error(`${from} imports ${path}, which package.json does not map.`)
  return normalize(target.replace('*', path.slice(alias.length + 1)))
}

export interface LockFile {
  readonly packages: Readonly<Record<string, LockedPackage>>
}

interface LockedPackage {
  readonly version?: string
  readonly dependencies?: object
  readonly dev?: boolean
  readonly link?: boolean
  readonly devDependencies?: object
  readonly workspaces?: object
}

/**
 * The versions of all packages that users install, from package-lock.json. Without this file, npm would choose newer
 * versions of indirect dependencies. It is made for each package, so that it cannot be out of date.
 */
export function shrinkwrapOf({ packages, ...lock }: LockFile): LockFile {
  const installed = Object.entries(packages).flatMap(([path, { devDependencies: _, workspaces: __, ...locked }]) =>
    path !== '' && (locked.dev || locked.link || !path.startsWith('node_modules/')) ? [] : [[path, locked] as const],
  )
  return { ...lock, packages: Object.fromEntries(installed) }
}

if (import.meta.main) {
  await buildPackage(join(root, 'dist'))
  const lock = JSON.parse(await readFile(join(root, 'package-lock.json'), 'utf8')) as LockFile
  await writeFile(join(root, 'npm-shrinkwrap.json'), `${JSON.stringify(shrinkwrapOf(lock), undefined, 2)}\n`)
}
