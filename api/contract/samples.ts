// Code samples of a call, for curl, the client and Python. Requests are built by the code of the client, so that samples
// match what it sends.
import { parseJson, stringifyJson } from './json.ts'
import { toRequest } from './request.ts'
import { type AnyId, allRoutes } from './routes.ts'

type Inputs = Readonly<Record<string, unknown>>

/** Pass it instead of a key to read the key from the environment. */
export const keyVariable = '$TETRAD_KEY'

/** `separator` is between the arguments of the command. */
export function curlOf(id: AnyId, baseUrl: string, input: Inputs, key?: string, separator = ' '): string {
  const { url, method, headers, body } = toRequest(id, baseUrl, input, key)
  const parts = [`curl -s ${quoted(url.replace(encodeURIComponent(keyVariable), keyVariable))}`]
  for (const [name, value] of Object.entries(headers))
    if (name !== 'accept') parts.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (method === 'POST') parts.push(`-d ${quoted(body ?? '')}`)
  return parts.join(separator)
}

/** An argument for the shell. Only the variable with the key is expanded. */
function quoted(text: string): string {
  const parts = text.split(keyVariable)
  if (parts.length > 1 && !parts.some((part) => /["$`\\]/.test(part))) return `"${text}"`
  return parts.map((part) => `'${part.replaceAll("'", `'\\''`)}'`).join(`"${keyVariable}"`)
}

export function clientOf(id: AnyId, baseUrl: string, input: Inputs): string {
  const given = Object.keys(input).length === 0 ? '' : literal(input, scriptValues)
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

/** For Python 3 without packages. */
export function pythonOf(id: AnyId, baseUrl: string, input: Inputs): string {
  const { auth, stream } = allRoutes[id]
  const request = toRequest(id, baseUrl, input, auth === 'open' ? undefined : keyVariable)
  const { origin, pathname, searchParams } = new URL(request.url)
  const { accept, ...headers } = request.headers
  const query = Object.fromEntries(searchParams)
  const [hasQuery, hasHeaders] = [query, headers].map((values) => Object.keys(values).length > 0)
  const value = (content: unknown) =>
    literal(content, pythonValues)
      .replace(`'${keyVariable}'`, pythonKey)
      .replace(`'Bearer ${keyVariable}'`, `'Bearer ' + ${pythonKey}`)
  const requestArguments = [
    `${value(`${origin}${pathname}${hasQuery ? '?' : ''}`)}${hasQuery ? ' + urlencode(query)' : ''}`,
    ...(hasHeaders ? ['headers=headers'] : []),
    ...(request.body === undefined ? [] : ['data=json.dumps(body).encode()']),
  ]
  const lines = [
    stream ? '' : 'import json',
    auth === 'open' ? '' : 'import os',
    hasQuery ? 'from urllib.parse import urlencode' : '',
    'from urllib.request import Request, urlopen\n',
    hasQuery ? `query = ${value(query)}` : '',
    hasHeaders ? `headers = ${value(headers)}` : '',
    request.body === undefined ? '' : `body = ${value(parseJson(request.body))}`,
    `request = Request(${requestArguments.join(', ')})`,
    'with urlopen(request) as reply:',
    stream ? "    for line in reply:\n        print(line.decode(), end='')" : '    print(json.load(reply))',
  ]
  return lines.filter((line) => line !== '').join('\n')
}

const pythonKey = "os.environ['TETRAD_KEY']"

interface ValueSyntax {
  readonly names: 'bare' | 'quoted'
  readonly indent: string
  /** How true, false and null are written. */
  readonly words: Readonly<Record<string, string>>
  bigint(value: bigint): string
}

const scriptValues: ValueSyntax = { names: 'bare', indent: '  ', words: {}, bigint: (value) => `${value}n` }
const pythonValues: ValueSyntax = {
  names: 'quoted',
  indent: '    ',
  words: { true: 'True', false: 'False', null: 'None' },
  bigint: String,
}

const lineMax = 100

/** A literal of the language, on several lines if it is long. */
function literal(value: unknown, syntax: ValueSyntax, indent = ''): string {
  if (typeof value === 'bigint') return syntax.bigint(value)
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
  if (typeof value !== 'object' || value === null) {
    const text = stringifyJson(value)
    return syntax.words[text] ?? text
  }
  const write = (inner: string): string[] =>
    Array.isArray(value)
      ? value.map((item) => literal(item, syntax, inner))
      : Object.entries(value).map(([name, member]) => `${memberName(name, syntax)}: ${literal(member, syntax, inner)}`)
  const [open, close] = Array.isArray(value) ? ['[', ']'] : syntax.names === 'bare' ? ['{ ', ' }'] : ['{', '}']
  const line = `${open}${write(indent).join(', ')}${close}`
  if (line.length <= lineMax - indent.length && !line.includes('\n')) return line
  const inner = `${indent}${syntax.indent}`
  return `${open.trim()}\n${write(inner)
    .map((member) => `${inner}${member},\n`)
    .join('')}${indent}${close.trim()}`
}

const memberName = (name: string, syntax: ValueSyntax): string =>
  syntax.names === 'bare' && /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name, syntax)
