// Conditional reading (RFC 9110 section 13): has the caller got these bytes already? Pure: the answer is in the headers.
import { hash } from 'node:crypto'

/** A strong tag: other bytes, other tag. */
export const etagOf = (bytes: Uint8Array): string => `"${hash('sha256', bytes, 'base64url').slice(0, 22)}"`

/** Unix milliseconds as an HTTP date, which knows whole seconds only. */
export const httpDate = (unixMs: number): string => new Date(unixMs).toUTCString()

const tags = /(?:W\/)?("[^"]*")/g
/** The two older forms of a date are not read: such a condition counts as none, and the caller gets the bytes. */
const httpDateText = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** True when a 304 is the answer. Tags win over dates: a date cannot tell two changes within one second apart. */
export function isUnchanged(
  headers: Readonly<Record<string, string | undefined>>,
  etag: string,
  modifiedMs?: number,
): boolean {
  const noneMatch = headers['if-none-match']
  if (noneMatch !== undefined) return noneMatch.trim() === '*' || names(noneMatch, etag)
  const since = headers['if-modified-since']
  if (since === undefined || modifiedMs === undefined || !httpDateText.test(since)) return false
  return Math.floor(modifiedMs / 1000) * 1000 <= Date.parse(since)
}

/** Weak comparison, as the RFC asks for reads: `W/"a"` and `"a"` are the same. */
function names(list: string, etag: string): boolean {
  for (const [, tag] of list.matchAll(tags)) if (tag === etag) return true
  return false
}
