// The thread of parse-page.ts.
import { stringifyJson } from '#api/json.ts'
import { serveThread } from '#runtime/worker-thread.ts'
import { parseFeedPage } from './feed-page.ts'
import { type PageInput, type PageTexts, parseBytes } from './parse-page.ts'

serveThread({
  parse: async ({ bytes, feed, cursor }: PageInput) => {
    const document = parseBytes(bytes)
    if (!document) return { value: undefined }
    const { records, ...page } = parseFeedPage(document.json, feed, cursor)
    return { value: { ...page, texts: records.map((record) => stringifyJson(record)) } satisfies PageTexts }
  },
})
