// Conditional requests (RFC 9110 section 13): etags, dates, and whether the caller already has the current version.
import { hash } from 'node:crypto'

/** A strong etag. */
export const etagOf = (bytes: Uint8Array): string => etagFromHash(hash('sha256', bytes, 'base64url'))

/** `sha256` is base64url. */
export const etagFromHash = (sha256: string): string => `"${sha256.slice(0, 22)}"`

/** HTTP dates have whole seconds. */
export const httpDate = (unixMs: number): string => new Date(unixMs).toUTCString()

const tags = /(?:W\/)?("[^"]*")/g
/** Conditions with one of the two obsolete date formats are ignored. */
const httpDateText = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** True for a 304. Etags take precedence, because dates do not distinguish changes within one second. */
export function isUnchanged(
  headers: Readonly<Record<string, string | undefined>>,
  etag: string,
  modifiedMs?: number,
): boolean {
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) return noneMatch.trim() === '*' || listsEtag(noneMatch, etag)
  const since = headers['if-modified-since']
  if (since === undefined || modifiedMs === undefined || !httpDateText.test(since)) return false
  return Math.floor(modifiedMs / 1000) * 1000 <= Date.parse(since)
}

/** Weak comparison, as the RFC requires for GET: `W/"a"` equals `"a"`. */
function listsEtag(list: string, etag: string): boolean {
  for (const [, tag] of list.matchAll(tags)) if (tag === etag) return true
  return false
}
