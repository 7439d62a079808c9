// Builds the console and the documentation site into console/dist as static files, which the server delivers.
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

/** Adds the folder `docs` to the output, after the console is written. */
function documentation(): Plugin {
  let outDir = ''
  return {
    name: 'documentation',
    apply: 'build',
    configResolved({ root, build }) {
      outDir = resolve(root, build.outDir)
    },
    async closeBundle() {
      // Loaded by Node, not by the bundler of this file: the build imports modules of the project by their aliases.
      const { href } = pathToFileURL(join(import.meta.dirname, '../docs/site/build.ts'))
      const { buildSite } = (await import(href)) as typeof import('../docs/site/build.ts')
      await buildSite(join(outDir, 'docs'), { isServed: true })
    },
  }
}

// The server may run as another user than the one who builds the console, for example root with umask 077.
process.umask(0o022)

export default defineConfig({
  root: import.meta.dirname,
  plugins: [documentation()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    // The server's content security policy allows inline data only for images.
    assetsInlineLimit: 0,
    // Do not preload the code of pages that are not open.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: {
          // Preact changes rarely: browsers keep it when the console has a new version.
          groups: [{ name: 'preact', test: /node_modules\/preact\// }],
        },
      },
    },
  },
})
