// Applies the configured aliases of fields to a response (aliases.ts).
import type { Aliases } from './aliases.ts'
import type { ApiResponse } from './render.ts'

/** Renames and removes fields in JSON by the configured aliases. Compressed and other bodies stay unchanged. */
export function applyFieldAliases(aliases: Aliases, response: ApiResponse): ApiResponse {
  const { changeFields, etags } = aliases
  if (!changeFields || !etags) return response
  const changed = { ...response, headers: etags.toResponse(response.headers) }
  if (response.status === 304 || !isPlainJson(response)) return changed
  const { chunks } = response
  if (chunks) return { ...changed, chunks: (signal) => mapChunks(chunks(signal), changeFields) }
  const text = typeof response.body === 'string' ? response.body : new TextDecoder().decode(response.body)
  return { ...changed, body: changeFields(text), isBodyShared: false }
}

const isPlainJson = ({ headers }: ApiResponse): boolean =>
  headers['content-encoding'] === undefined && /json|event-stream/.test(headers['content-type'] ?? '')

async function* mapChunks(chunks: AsyncIterable<string>, change: (text: string) => string): AsyncGenerator<string> {
  for await (const chunk of chunks) yield change(chunk)
}
