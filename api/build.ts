// Builds the npm package: JavaScript and type declarations in api/dist. Run with `npm run build:api`.
import { execFile } from 'node:child_process'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const here = import.meta.dirname

/** Replaces the content of `outDir`. */
export async function buildApi(outDir: string): Promise<void> {
  const compiler = join(dirname(fileURLToPath(import.meta.resolve('typescript/package.json'))), 'bin/tsc')
  await rm(outDir, { recursive: true, force: true })
  await run(process.execPath, [
    compiler,
    '-p',
    join(here, 'tsconfig.build.json'),
    '--outDir',
    outDir,
    '--singleThreaded',
  ])
  for (const name of await readdir(outDir, { recursive: true })) {
    if (name.endsWith('.d.ts')) await nameBuiltFiles(join(outDir, name))
  }
}

/** The compiler rewrites imports of `./x.ts` in code but not in declarations, where older compilers do not find them. */
async function nameBuiltFiles(path: string): Promise<void> {
  const text = await readFile(path, 'utf8')
  await writeFile(path, text.replace(/(from |import\()(['"])(\.[^'"]*)\.ts\2/g, '$1$2$3.js$2'))
}

if (import.meta.main) {
  const outDir = join(here, 'dist')
  try {
    await buildApi(outDir)
    console.log(`built ${outDir}`)
  } catch (error) {
    console.error((error as { stdout?: string }).stdout || error)
    process.exitCode = 1
  }
}
