// Builds the console into console/dist: static files that the server hands out itself; nothing is fetched from elsewhere.
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2022',
    // The server's policy allows no inline data but pictures.
    assetsInlineLimit: 0,
    // Every page but the one that is looked at waits in a file of its own.
    modulePreload: { polyfill: false },
  },
})
