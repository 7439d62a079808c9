// Signs and verifies download links (behaviour/explorer.md#download-links).
//
// 1. The signature covers chain, format and expiry.
// 2. Signatures are compared in constant time, before the expiry is checked.
import { createHmac, timingSafeEqual } from 'node:crypto'

export const exportForms = ['csv', 'json'] as const
export type ExportForm = (typeof exportForms)[number]

/** Unverified parts of a link. */
export interface LinkParameters {
  readonly chain: string
  readonly format: string
  readonly expires?: string | undefined
  readonly signature?: string | undefined
}

export function createExportPath(secret: Uint8Array, chain: string, form: ExportForm, expiresUnix: number): string {
  const signature = sign(secret, chain, form, String(expiresUnix))
  return `/exports/${chain}/labelmasterlist_latest.${form}?expires=${expiresUnix}&signature=${signature}`
}

/** The format of the file, if the link is valid. */
export function verifyLink(secret: Uint8Array, link: LinkParameters, nowMs: number): ExportForm | undefined {
  const { chain, format, expires = '', signature = '' } = link
  const expected = Buffer.from(sign(secret, chain, format, expires))
  const actual = Buffer.from(signature)
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined
  if (Number(expires) * 1000 <= nowMs) return undefined
  return exportForms.find((form) => form === format)
}

/** Compared as text, because base64url has several spellings of the same bytes. */
const sign = (secret: Uint8Array, chain: string, form: string, expires: string): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify(['labelmasterlist', chain, form, expires]))
    .digest('base64url')
