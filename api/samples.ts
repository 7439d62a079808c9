// Calls as lines to paste into a shell, one per endpoint, made by the client's own code from the contract.
import { toRequest } from '#api/request.ts'
import type { EndpointId } from '#api/routes.ts'

/** One call of one endpoint. */
export function curlOf(id: EndpointId, baseUrl: string, input: Readonly<Record<string, unknown>>, key: string): string {
  const { url, method, headers, body } = toRequest(id, baseUrl, input, key)
  const words = ['curl', '-s', quoted(url)]
  for (const [name, value] of Object.entries(headers))
    if (name !== 'accept') words.push('-H', quoted(`${name}: ${value}`))
  if (method === 'POST') words.push('-d', quoted(body ?? ''))
  return words.join(' ')
}

/** Single quotes hold everything but themselves, in every shell of the Bourne family. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
