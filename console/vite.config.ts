// Builds the console into console/dist as static files, which the server delivers.
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

// The server may run as another user than the one who builds the console, for example root with umask 077.
process.umask(0o022)

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
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
