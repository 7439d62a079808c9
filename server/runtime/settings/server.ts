// Settings of the house itself: where it listens, what it lets in, how it is told apart by name.

import { oneOf, PatternText, Type, withDefault } from '#api/kit.ts'
import { groups, plans } from '#api/routes.ts'

/** An object all of whose members have defaults, so that it may be left out whole. */
export const section = <P extends Parameters<typeof Type.Object>[0]>(members: P, description: string) =>
  withDefault(Type.Object(members, { additionalProperties: false, description }), {} as never)

const wholeNumber = (value: number, description: string, minimum = 0) =>
  withDefault(Type.Integer({ minimum, description }), value)

export const serverSettings = section(
  {
    host: withDefault(
      Type.String({ description: 'Address to listen on; loopback unless told otherwise.' }),
      '127.0.0.1',
    ),
    port: withDefault(
      Type.Integer({ minimum: 0, maximum: 65535, description: 'Port to listen on; 0 picks a free one.' }),
      8080,
    ),
    publicUrl: withDefault(
      Type.String({
        pattern: '^$|^https?://[^/]+$',
        description:
          'Scheme and host that links are written with. Empty: the caller’s Host if that is an IP address, localhost or the host name of a group, otherwise the address of this server.',
      }),
      '',
    ),
    proxyHops: withDefault(
      Type.Integer({
        minimum: 0,
        maximum: 16,
        description: 'How many proxies of yours stand in front; the caller is who the outermost of them saw.',
      }),
      0,
    ),
    cors: withDefault(Type.Boolean({ description: 'Let pages of other origins read.' }), true),
    bodyBytesMax: wholeNumber(65_536, 'Longest request body.', 1024),
    connectionsMax: wholeNumber(
      4096,
      'Connections that are open at the same time; further ones are closed at once. Each may hold up to 1.4 MB while its request arrives.',
      1,
    ),
    urlBytesMax: wholeNumber(16_384, 'Longest request line; the aggregated effectiveness has its own.', 1024),
    headerBytesMax: wholeNumber(16_384, 'Largest sum of request headers.', 1024),
    headersTimeoutMs: wholeNumber(10_000, 'How long a caller may take to send the headers.', 100),
    requestTimeoutMs: wholeNumber(30_000, 'How long a caller may take to send the whole request.', 100),
    answerTimeoutMs: wholeNumber(30_000, 'How long an answer may take before it is given up.', 100),
    stopTimeoutMs: wholeNumber(10_000, 'How long requests in flight may take to finish when the server stops.', 0),
    anonymousPerSecond: withDefault(
      Type.Integer({
        minimum: 0,
        maximum: 100_000,
        description: 'Calls in any rolling second from one address without a key, over all open paths; 0: no limit.',
      }),
      100,
    ),
    stopDelayMs: wholeNumber(0, 'How long to report not-ready before closing, so that a load balancer notices.', 0),
  },
  'Where the server listens and what it lets in.',
)

export const logSettings = section(
  {
    requests: withDefault(
      oneOf(['all', 'failures', 'none'], { description: 'Which requests get a line of their own.' }),
      'failures',
    ),
    level: withDefault(
      oneOf(['debug', 'info', 'warn', 'error', 'silent'], { description: 'Least severity that is written.' }),
      'info',
    ),
  },
  'Log lines, JSON on standard error.',
)

export const consoleSettings = section(
  {
    on: withDefault(
      Type.Boolean({ description: 'Serve the pages at / and /docs, and what the signed-in operator may call.' }),
      true,
    ),
  },
  'The console in the browser.',
)

/** A name, an IPv4 address, or an IPv6 address in brackets: what a `host` header has before its port. */
const hostName = '^$|^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$|^\\[[0-9A-Fa-f:.]+\\]$'

const groupSettings = (name: string) =>
  section(
    {
      on: withDefault(Type.Boolean({ description: `Serve ${name}.` }), true),
      host: withDefault(
        PatternText(hostName, 'be a host name alone, as in data.example.net, without scheme, port or path', {
          description: 'Answer only under this host name; empty: under any.',
        }),
        '',
      ),
    },
    `The ${name} interface.`,
  )

export const groupsSettings = section(
  Object.fromEntries(groups.map((name) => [name, groupSettings(name)])) as Record<
    (typeof groups)[number],
    ReturnType<typeof groupSettings>
  >,
  'Each interface: on or off, and its own host name.',
)

const table = (description: string) =>
  withDefault(Type.Record(Type.String(), Type.String({ minLength: 1 }), { description }), {})

export const aliasesSettings = section(
  {
    paths: table('Path a caller uses → path served here; {name} stands for one segment on both sides.'),
    requestHeaders: table('Request header a caller sends → header known here.'),
    responseFields: table('Response field as served here → name written instead.'),
  },
  'Other spellings that existing clients use.',
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
      perSecond: withDefault(
        Type.Integer({ minimum: 0, maximum: 100_000, description: 'Calls in any rolling second; 0: no limit.' }),
        planLimits[name].perSecond,
      ),
      perDay: withDefault(
        Type.Integer({ minimum: 0, description: 'Calls in a UTC day; 0: no limit.' }),
        planLimits[name].perDay,
      ),
    },
    `Limits of the ${name} plan.`,
  )

export const plansSettings = section(
  Object.fromEntries(plans.map((name) => [name, planSettings(name)])) as Record<
    (typeof plans)[number],
    ReturnType<typeof planSettings>
  >,
  'Limits by plan.',
)

export const keysSettings = section(
  {
    badMax: wholeNumber(5, 'Bad keys allowed from one address within the window.', 1),
    badWindowMs: wholeNumber(30_000, 'The window in which bad keys are counted.', 1000),
  },
  'The guard against guessing keys.',
)

export const limitsSetting = withDefault(
  Type.String({
    pattern: '^$|^rediss?://[^\\s]+$',
    description:
      'Redis that holds the limits of several processes, `redis://user:password@host:6379/0`, `rediss://…` with TLS; empty: this process holds them.',
  }),
  '',
)

export const ingestSettings = section(
  {
    on: withDefault(
      Type.Boolean({
        description:
          'Read nodes, sources and feeds, and let go of what is over; off: only answer. Of several that may, one does.',
      }),
      true,
    ),
  },
  'Whether this process brings data in.',
)
