// Loads the search index of the documentation site, as a script, because browsers do not fetch files from the file
// system.
import type { SearchIndex } from './text-search.ts'

declare global {
  var tetradSearchIndex: SearchIndex | undefined
}

export function loadIndex(siteRoot: URL): Promise<SearchIndex> {
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = new URL('search-index.js', siteRoot).href
    const fail = () => reject(new Error(`${script.src} could not be loaded.`))
    script.onload = () => (globalThis.tetradSearchIndex ? resolve(globalThis.tetradSearchIndex) : fail())
    script.onerror = fail
    document.head.append(script)
  })
}
