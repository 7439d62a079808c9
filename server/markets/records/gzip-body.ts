// Compresses documents, for callers that accept gzip.
import { gzipSync } from 'node:zlib'

/** Below this size, gzip saves less than a packet. */
const gzipBytesMin = 1024

/** Half the time of the default level for a few percent more bytes. A change of an event may rewrite 300 documents. */
const gzipLevel = 3

/** Null if the body is too short to be worth it. */
export const gzipBody = (body: Uint8Array): Uint8Array | null =>
  body.byteLength < gzipBytesMin ? null : gzipSync(body, { level: gzipLevel })
