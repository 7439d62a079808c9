// The arithmetic of signed download links (behaviour/explorer.md#download-links): what is signed, how, and when it holds.
//
// 1. Chain, form and expiry are all under the signature: changing any of them in the URL breaks it.
// 2. Signatures are compared in constant time, and before the expiry is believed.
import { createHmac, timingSafeEqual } from 'node:crypto'

export const exportForms = ['csv', 'json'] as const
export type ExportForm = (typeof exportForms)[number]

/** The parts of a link as they arrive: text of any kind, or missing. */
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

/** The claim's form when the link is ours and still good. */
export function verifyLink(secret: Uint8Array, link: LinkParameters, nowMs: number): ExportForm | undefined {
  const { chain, format, expires = '', signature = '' } = link
  const expected = Buffer.from(sign(secret, chain, format, expires))
  const given = Buffer.from(signature)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  if (Number(expires) * 1000 <= nowMs) return undefined
  return exportForms.find((form) => form === format)
}

/** As text: a signature has one spelling, so every changed character is a changed signature. */
const sign = (secret: Uint8Array, chain: string, form: string, expires: string): string =>
  createHmac('sha256', secret)
    .update(JSON.stringify(['labelmasterlist', chain, form, expires]))
    .digest('base64url')
