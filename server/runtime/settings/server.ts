// Settings of the server itself: network, log, console, MCP, groups, aliases, plans, keys, limits and ingest.
import { boolean, choice, integer, PatternText, type TSchema, Type, withDefault } from '#api/contract/kit.ts'
import { groups, plans } from '#api/contract/routes.ts'
import { recordFrom } from '#core/record-from.ts'

export { boolean, choice, integer }

type Members = Parameters<typeof Type.Object>[0]

/** The member of an object that a text in its place means: `http://…` for `{ url: http://… }`. */
export const textFor = 'x-text-for'

/** An object without other members. */
export const object = <P extends Members>(
  members: P,
  options: { readonly description?: string; readonly [textFor]?: string } = {},
) => Type.Object(members, { additionalProperties: false, ...options })

/** An optional object whose members all have defaults. */
export const section = <P extends Members>(members: P, description: string) =>
  withDefault(object(members, { description }), {} as never)

/** `options`: the pattern or the length of the text. */
export const text = (value: string, description: string, options: object = {}) =>
  withDefault(Type.String({ ...options, description }), value)

/** Without a maximum. */
export const wholeNumber = (value: number, description: string, minimum = 0) =>
  withDefault(Type.Integer({ minimum, description }), value)

/** Empty by default. */
export const list = <S extends TSchema>(items: S, maxItems: number, description: string) =>
  withDefault(Type.Array(items, { maxItems, description }), [])

export const serverSettings = section(
  {
    host: text('127.0.0.1', 'Address to listen on.'),
    port: integer(8080, 0, 65535, 'Port to listen on; 0: any free port.'),
    publicUrl: text(
      '',
      'Scheme and host of links, without a path. Empty: the Host header if it is an IP address, localhost or the host name of a group, otherwise the address of this server.',
      { pattern: '^$|^https?://[^/]+$' },
    ),
    proxyHops: integer(
      0,
      0,
      16,
      'Number of your proxies in front of the server. The caller is the address that the outermost one sees.',
    ),
    cors: boolean(true, 'Allow cross-origin requests.'),
    unknownParameters: choice(
      ['refuse', 'report'],
      'refuse',
      'What lists, searches and other selections do with a query parameter that they do not know: refuse the request, or ignore it and name it in x-tetrad-ignored. Misspellings of a known name are always refused.',
    ),
    bodyBytesMax: wholeNumber(65_536, 'Maximum size of a request body.', 1024),
    connectionsMax: wholeNumber(
      4096,
      'Maximum number of open connections; further ones are closed. Each may use up to 1.4 MB while its request arrives.',
      1,
    ),
    unsentBytesMax: wholeNumber(
      268_435_456,
      'Maximum size of what is kept for callers that do not read their responses, over all connections. When it is reached, the connection that has waited longest is closed.',
      1_048_576,
    ),
    urlBytesMax: wholeNumber(
      16_384,
      'Maximum length of a request line; the aggregated effectiveness has its own limit.',
      1024,
    ),
    headerBytesMax: wholeNumber(16_384, 'Maximum total size of request headers.', 1024),
    headersTimeoutMs: wholeNumber(10_000, 'Time limit for receiving the headers.', 100),
    requestTimeoutMs: wholeNumber(30_000, 'Time limit for receiving the whole request.', 100),
    responseTimeoutMs: wholeNumber(30_000, 'Time limit for computing a response.', 100),
    stopTimeoutMs: wholeNumber(10_000, 'Time for requests in flight when the server stops.'),
    anonymousPerSecond: integer(
      100,
      0,
      100_000,
      'Calls per rolling second of one address without a key: over all open endpoints, and of each path outside the contract except health checks; 0: no limit.',
    ),
    stopDelayMs: wholeNumber(
      0,
      'How long the server reports “not ready” before it closes, so that load balancers notice.',
      0,
    ),
  },
  'Network address, limits and timeouts of the HTTP server.',
)

export const logSettings = section(
  {
    requests: choice(['all', 'failures', 'none'], 'failures', 'Which requests are logged.'),
    level: choice(['debug', 'info', 'warn', 'error', 'silent'], 'info', 'Minimum severity.'),
  },
  'Log on standard error: JSON lines, or readable text on a terminal.',
)

export const consoleSettings = section(
  {
    enabled: boolean(true, 'Serve the pages at / and /docs, and the calls for operators.'),
  },
  'The web console.',
)

export const mcpSettings = section(
  {
    enabled: boolean(
      false,
      'Offer the endpoints that read to AI agents at /mcp (streamable HTTP), with the same keys and limits.',
    ),
  },
  'The Model Context Protocol over HTTP.',
)

/** A name, an IPv4 address, or an IPv6 address in brackets, as in a `host` header. */
const hostName = '^$|^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$|^\\[[0-9A-Fa-f:.]+\\]$'

const groupSettings = (name: string) =>
  section(
    {
      enabled: boolean(true, `Serve the ${name} interface.`),
      host: withDefault(
        PatternText(hostName, 'be a host name such as data.example.net, without scheme, port or path', {
          description: 'Serve it only under this host name; empty: under any.',
        }),
        '',
      ),
    },
    `The ${name} interface.`,
  )

export const groupsSettings = section(
  recordFrom(groups, groupSettings),
  'The four interfaces: whether they are served, and under which host name.',
)

const table = (description: string) =>
  withDefault(Type.Record(Type.String(), Type.String({ minLength: 1 }), { description }), {})

export const aliasesSettings = section(
  {
    paths: table('Path that callers use → path of this server; {name} is one segment on both sides.'),
    requestHeaders: table('Request header that callers send → header of this server.'),
    responseFields: table('Response field of this server → name that is sent.'),
    hiddenFields: withDefault(
      Type.Array(Type.String({ minLength: 1 }), { description: 'Response fields that are not sent.' }),
      [],
    ),
  },
  'Other names that existing clients use, and fields that they do not accept.',
)

const planLimits = {
  free: { perSecond: 3, perDay: 100_000 },
  lite: { perSecond: 5, perDay: 100_000 },
  standard: { perSecond: 10, perDay: 200_000 },
  advanced: { perSecond: 20, perDay: 500_000 },
  professional: { perSecond: 30, perDay: 1_000_000 },
  enterprise: { perSecond: 0, perDay: 0 },
} as const

const planSettings = (name: (typeof plans)[number]) =>
  section(
    {
      perSecond: integer(planLimits[name].perSecond, 0, 100_000, 'Calls per rolling second; 0: no limit.'),
      perDay: wholeNumber(planLimits[name].perDay, 'Calls per UTC day; 0: no limit.'),
    },
    `Limits of the ${name} plan.`,
  )

export const plansSettings = section(recordFrom(plans, planSettings), 'Limits by plan.')

export const keysSettings = section(
  {
    badKeysMax: wholeNumber(5, 'Invalid keys that one address may send within the window.', 1),
    badKeysWindowMs: wholeNumber(30_000, 'Length of the window.', 1000),
  },
  'Throttling of invalid keys.',
)

export const limitsSetting = text(
  '',
  'Redis for limits that several servers share, `redis://user:password@host:6379/0`, or `rediss://…` for TLS. Empty: each server counts on its own.',
  { pattern: '^$|^rediss?://[^\\s]+$' },
)

export const ingestSettings = section(
  {
    enabled: boolean(
      true,
      'Read nodes, sources and feeds, and delete old data. Of several servers, one does each of these. If false, this server only answers requests.',
    ),
  },
  'Reading of data.',
)
