// Code samples of a call, for curl and for the client. Requests are built by the code of the client, so that samples
// match what it sends.
import { stringifyJson } from './json.ts'
import { toRequest } from './request.ts'
import { type AnyId, allRoutes } from './routes.ts'

type Inputs = Readonly<Record<string, unknown>>

export function curlOf(id: AnyId, baseUrl: string, input: Inputs, key?: string): string {
  const { url, method, headers, body } = toRequest(id, baseUrl, input, key)
  const parts = ['curl', '-s', quoted(url)]
  for (const [name, value] of Object.entries(headers))
    if (name !== 'accept') parts.push('-H', quoted(`${name}: ${value}`))
  if (method === 'POST') parts.push('-d', quoted(body ?? ''))
  return parts.join(' ')
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

export function clientOf(id: AnyId, baseUrl: string, input: Inputs): string {
  const given = Object.keys(input).length === 0 ? '' : literal(input)
  const key = allRoutes[id].auth === 'open' ? '' : ', key: process.env.TETRAD_KEY'
  const call = allRoutes[id].stream
    ? `for await (const change of client.markets.watchChanges(${given})) console.log(change)`
    : `const reply = await client.${id}(${given})`
  return [
    "import { createClient } from '@tetrad/api'",
    '',
    `const client = createClient({ baseUrl: '${baseUrl}'${key} })`,
    call,
  ].join('\n')
}

/** A JavaScript literal. */
function literal(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`
  if (typeof value !== 'object' || value === null) return stringifyJson(value)
  const named = Object.entries(value).map(
    ([name, one]) => `${/^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name)}: ${literal(one)}`,
  )
  return `{ ${named.join(', ')} }`
}
