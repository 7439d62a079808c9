// A route for a JSON document that is the same for all callers. It is created and compressed once.
import { nextEventLoopTurn } from '#runtime/clock.ts'
import type { Compression } from './compressed-bytes.ts'
import type { App } from './pipeline.ts'
import { jsonType } from './render.ts'
import type { ReadableRoute } from './routes.ts'
import { createSharedFile, type SharedFile } from './shared-file.ts'

export interface DocumentRoute extends ReadableRoute {
  /** Creates the document before the first request does, which would take longer than any other one. */
  prepare(): Promise<void>
}

const encodings: readonly Compression[] = ['br', 'gzip']

export function documentRoute({ aliases }: Pick<App, 'aliases'>, path: string, make: () => object): DocumentRoute {
  let file: SharedFile | undefined
  function getFile(): SharedFile {
    if (!file) {
      const text = JSON.stringify(make())
      file = createSharedFile(Buffer.from(aliases.changeFields?.(text) ?? text), jsonType)
    }
    return file
  }
  return {
    path,
    appliesAliases: true,
    read: (request) => getFile()(request, { 'cache-control': 'no-cache' }),
    async prepare() {
      await nextEventLoopTurn()
      for (const encoding of encodings) await getFile()({ headers: { 'accept-encoding': encoding } }, {})
    },
  }
}
