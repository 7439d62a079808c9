// Downloads of label lists behind the signed links of 4.1 (behaviour/explorer.md#download-links). They need no key.

import { Fault } from '#core/fault.ts'
import { changesResponses } from '#http/aliases.ts'
import { chooseEncoding } from '#http/compressed-bytes.ts'
import type { Context } from '#http/context.ts'
import { isUnchanged } from '#http/etag.ts'
import type { RequestInfo } from '#http/handler.ts'
import type { ExtraRoute } from '#http/routes.ts'
import { getFinishedList } from './finished-lists.ts'
import { getLinkSecret, type LinkContext } from './link-secret.ts'
import { createExportPath, type ExportForm, type LinkParameters, verifyLink } from './signed-link.ts'

export interface Download {
  readonly status: 200 | 304
  readonly headers: Record<string, string>
  readonly bytes: Uint8Array
}

const contentTypes: Record<ExportForm, string> = {
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json; charset=utf-8',
}
const empty = new Uint8Array(0)

/** A link that is valid for `labels.linkSeconds`. */
export async function createLabelLink(
  context: LinkContext,
  request: RequestInfo,
  chain: string,
  form: ExportForm,
): Promise<string> {
  const expiresUnix = Math.floor(context.clock.now() / 1000) + context.settings.explorer.labels.linkSeconds
  return request.origin + createExportPath(await getLinkSecret(context), chain, form, expiresUnix)
}

/** The current list. Throws `explorer.link` if the link is invalid or expired. */
export async function readLabelExport(
  context: LinkContext,
  link: LinkParameters & { readonly ifNoneMatch?: string | undefined; readonly acceptEncoding?: string | undefined },
): Promise<Download> {
  const form = verifyLink(await getLinkSecret(context), link, context.clock.now())
  const list = form && (await getFinishedList(context, link.chain, form))
  if (!form || !list) throw new Fault('explorer.link')
  const encoding = changesFields(context, form) ? 'identity' : chooseEncoding(link.acceptEncoding)
  const { bytes, etag, headers: encodingHeaders } = await list.file.encodedAs(encoding)
  const headers = { etag, vary: encodingHeaders.vary, 'cache-control': 'private, no-cache' }
  if (isUnchanged({ 'if-none-match': link.ifNoneMatch }, etag)) return { status: 304, headers, bytes: empty }
  return {
    status: 200,
    headers: {
      ...encodingHeaders,
      ...headers,
      'content-type': contentTypes[form],
      'accept-ranges': 'none',
      'content-disposition': `attachment; filename="labelmasterlist_latest.${form}"`,
    },
    bytes,
  }
}

export const labelExportRoute: ExtraRoute<LinkContext & Context> = {
  path: '/exports/{chain}/labelmasterlist_latest.{format}',
  read: async ({ params, query, headers }, context) => {
    // A parameter that is given twice makes the link invalid.
    const single = (value: string | readonly string[] | undefined) => (typeof value === 'string' ? value : undefined)
    const download = await readLabelExport(context, {
      chain: params.chain ?? '',
      format: params.format ?? '',
      expires: single(query.expires),
      signature: single(query.signature),
      ifNoneMatch: headers['if-none-match'],
      acceptEncoding: headers['accept-encoding'],
    })
    return { status: download.status, headers: download.headers, body: download.bytes, isBodyShared: true }
  },
}

/** To rename or hide fields, the whole plain text is needed. */
const changesFields = ({ settings }: LinkContext, form: string | undefined): boolean =>
  form === 'json' && changesResponses(settings.aliases)
