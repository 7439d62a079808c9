// Builds the console into console/dist as static files, which the server delivers.
import { chmodSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** The server may run as another user than the one who built the console, for example root with umask 077. */
const makeReadable: Plugin = {
  name: 'make-readable',
  writeBundle({ dir = '' }) {
    chmodSync(dir, 0o755)
    for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true }))
      chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644)
  },
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), makeReadable],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    // The server's content security policy allows inline data only for images.
    assetsInlineLimit: 0,
    // Do not preload the code of pages that are not open.
    modulePreload: { polyfill: false },
  },
})
