// Builds the npm package: JavaScript and type declarations in api/dist. Run with `npm run build:api`. The declarations
// import no other package, so that they work with older compilers and without the schema library (declarations.ts).
import { execFile } from 'node:child_process'
import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { writeDeclarations } from './declarations.ts'
import manifest from './package.json' with { type: 'json' }

const run = promisify(execFile)
const packageDir = import.meta.dirname

/** Replaces the content of `outDir`. */
export async function buildApi(outDir: string): Promise<void> {
  const compiler = join(dirname(fileURLToPath(import.meta.resolve('typescript/package.json'))), 'bin/tsc')
  await rm(outDir, { recursive: true, force: true })
  await run(process.execPath, [
    compiler,
    '-p',
    join(packageDir, 'tsconfig.build.json'),
    '--outDir',
    outDir,
    '--singleThreaded',
  ])
  for (const [name, text] of Object.entries(await writeDeclarations())) await writeFile(join(outDir, name), text)
  await appendFile(join(outDir, 'client/client.d.ts'), "export type * from '../contract/records.js'\n")
  const published = new Set<string>()
  for (const { types } of Object.values(manifest.exports))
    await finish(join(outDir, types.replace('./dist/', '')), published)
  for (const name of await readdir(outDir, { recursive: true })) {
    const path = join(outDir, name)
    if (name.endsWith('.d.ts') && !published.has(path)) await rm(path)
  }
}

/**
 * Corrects the imports of a declaration file, and of all that it imports. The compiler writes `./x.ts` in declarations,
 * which older compilers do not find. Records are declared in one generated file instead of in wire/.
 */
async function finish(path: string, done: Set<string>): Promise<void> {
  if (done.has(path)) return
  done.add(path)
  const text = (await readFile(path, 'utf8'))
    .replace(/(from |import\()(['"])(\.[^'"]*)\.ts\2/g, '$1$2$3.js$2')
    .replace(/(['"])((?:\.\.\/contract|\.)\/)wire\/[\w-]+\.js\1/g, "'$2records.js'")
  await writeFile(path, text)
  for (const [, name = ''] of text.matchAll(/(?:from |import\()['"]([^'"]+)['"]/g)) {
    if (!name.startsWith('.')) throw new Error(`${path} imports the types of ${name}.`)
    await finish(join(dirname(path), name.replace(/\.js$/, '.d.ts')), done)
  }
}

if (import.meta.main) {
  const outDir = join(packageDir, 'dist')
  try {
    await buildApi(outDir)
    console.log(`built ${outDir}`)
  } catch (error) {
    console.error((error as { stdout?: string }).stdout || error)
    process.exitCode = 1
  }
}
