// Builds the documentation site as static files:
//   npm run docs:site -- --out DIR
// The pages use relative links, so they work from a subfolder and from the file system. The build of the console also
// builds them, with links to the console, for the server to deliver under /docs (console/vite.config.ts).
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { build } from 'vite'
import { renderSite } from './pages.ts'

const root = join(import.meta.dirname, '../..')
const indexFile = 'search-index.js'

/**
 * Replaces an earlier build in `outDir`, and refuses to delete other files. The start page is written last, when all other
 * files exist.
 */
export async function buildSite(outDir: string, { isServed }: { readonly isServed: boolean }): Promise<number> {
  const names = await readdir(outDir).catch((): string[] => [])
  if (names.length > 0 && !names.includes(indexFile))
    throw new Error(`${outDir} contains other files. Name a new or an empty folder.`)
  const { pages, notFoundPage, files, searchIndex } = renderSite({ isServed })
  await rm(outDir, { recursive: true, force: true })
  await buildAssets(outDir)
  await cp(join(root, 'console/public/favicon.svg'), join(outDir, 'favicon.svg'))
  await writeFile(join(outDir, indexFile), `globalThis.tetradSearchIndex=${JSON.stringify(searchIndex)}\n`)
  // Not copied: they are shown, so they must not be executable.
  for (const [path, source] of files) {
    await mkdir(dirname(join(outDir, path)), { recursive: true })
    await writeFile(join(outDir, path), await readFile(source))
  }
  await writeFile(join(outDir, '404.html'), notFoundPage)
  const start = 'index.html'
  for (const [path, html] of [...pages].sort(([one], [other]) => Number(one === start) - Number(other === start))) {
    await mkdir(dirname(join(outDir, path)), { recursive: true })
    await writeFile(join(outDir, path), html)
  }
  return pages.size
}

/** A classic script instead of a module, because browsers load no modules from the file system. */
async function buildAssets(outDir: string): Promise<void> {
  await build({
    root,
    configFile: false,
    publicDir: false,
    logLevel: 'warn',
    build: {
      outDir,
      emptyOutDir: false,
      target: 'es2022',
      assetsInlineLimit: 0,
      // A file of its own instead of text in the script.
      cssCodeSplit: false,
      modulePreload: { polyfill: false },
      rolldownOptions: {
        input: join(import.meta.dirname, 'browser/main.ts'),
        output: { format: 'iife', entryFileNames: 'site.js', assetFileNames: 'site[extname]' },
      },
    },
  })
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: 'string' } } })
  try {
    if (values.out === undefined) throw new Error('Name the output folder: npm run docs:site -- --out DIR')
    // npm runs scripts in the root of the project; the path is relative to where the user is.
    const outDir = resolve(process.env.INIT_CWD ?? '.', values.out)
    console.log(`wrote ${await buildSite(outDir, { isServed: false })} pages to ${outDir}`)
  } catch (error) {
    console.error((error as Error).message)
    process.exitCode = 1
  }
}
