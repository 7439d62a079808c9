// A file that all callers share: compressed once for each encoding, off the main thread, and sent with an etag
// (behaviour/operations.md#console-files, behaviour/http.md#openapi-document).
import { CompressedBytes, chooseEncoding, compressedBytesMin } from './compressed-bytes.ts'
import { etagOf, isUnchanged } from './etag.ts'
import type { ApiRequest } from './pipeline.ts'
import type { ApiResponse } from './render.ts'

/** The response with these headers. A status other than 200 is always sent with the body. */
export type SharedFile = (
  request: Pick<ApiRequest, 'headers'>,
  headers: Record<string, string>,
  status?: number,
) => Promise<ApiResponse>

export function createSharedFile(content: Uint8Array, type: string): SharedFile {
  // Created at the first request, because a site has many files that are not requested.
  let compressed: CompressedBytes | undefined
  const isCompressible = content.byteLength >= compressedBytesMin && !/png|woff2|octet/.test(type)
  return async (request, headers, status = 200) => {
    const encoding = isCompressible ? chooseEncoding(request.headers['accept-encoding']) : 'identity'
    compressed ??= new CompressedBytes(content, etagOf(content))
    const { bytes, etag, headers: encodingHeaders } = await compressed.encodedAs(encoding)
    const all = { 'content-type': type, etag, ...headers, ...(isCompressible && encodingHeaders) }
    if (status === 200 && isUnchanged(request.headers, etag)) return { status: 304, headers: all, body: '' }
    return { status, headers: all, body: bytes, isBodyShared: true }
  }
}
